"""Whether a recurring mission's machine accepts an ultimately periodic trace.

By any choice of commitments.
"""


def accepted_forever(machine, prefix, loop):
    """Tell whether some run on prefix·loop^ω is rewarded forever, breaking no commitment forever."""
    word = [*prefix, *loop]
    rows, numbers, nodes = [], {(machine.initial, 0): 0}, [(machine.initial, 0)]
    for state, position in nodes:
        later = position + 1 if position + 1 < len(word) else len(prefix)
        row = []
        if state not in machine.terminal:
            for target, reward in kept_options(machine, state, word[position]):
                if (target, later) not in numbers:
                    numbers[target, later] = len(nodes)
                    nodes.append((target, later))
                row.append((numbers[target, later], reward))
        rows.append(row)
    return any(
        reward > 0 and node in reached_from(rows, target)
        for node, row in enumerate(rows)
        for target, reward in row
    )


def kept_options(machine, state, labels):
    """Return what a step may do without breaking a commitment or giving one up."""
    return [o for o in machine.options(state, labels) if machine.keeps(state, o)]


def reached_from(rows, start):
    found, stack = {start}, [start]
    while stack:
        for target, _ in rows[stack.pop()]:
            if target not in found:
                found.add(target)
                stack.append(target)
    return found
