"""The Nav2 double does what the documentation of Nav2 and AMCL says (README.md has the sources)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from doubles.nav2_model import (
    FAULT_KINDS,
    LETHAL,
    NO_INFORMATION,
    THROUGH_POSES,
    AmclModel,
    Costmap,
    Fault,
    Faults,
    Grid,
    Nav2Model,
    Obstacle,
    Parameters,
    Planner,
    PlanningError,
    Pose,
    ServerUnavailableError,
    Status,
    distance_to,
    wrap,
)

ROOM = Grid.room(10.0, 6.0)
HALL = ROOM.filled(4.9, 0.0, 5.2, 4.0)
"""Two halves with a passage at the top."""
CORRIDOR = Grid.room(10.0, 1.4)
START = Pose(1.0, 1.0, 0.0)


def sent(model: Nav2Model, goal, timeout: float = 200.0, **options):
    """Return a goal that was sent and has ended."""
    result = model.send_goal(goal, **options)
    assert model.run(result, timeout), f"still {result.status.name} after {timeout} s"
    return result


def step_until(model: Nav2Model, condition, timeout: float = 120.0) -> None:
    end = model.time + timeout
    while not condition():
        assert model.time < end, "the condition never came true"
        model.step(model.parameters.tick)


# --- geometry and robot --------------------------------------------------------------------------


def test_distances_are_exact_below_the_limit() -> None:
    occupied = np.zeros((9, 12), dtype=bool)
    occupied[2, 3] = occupied[7, 10] = True
    cells = np.argwhere(occupied)
    exact = np.array(
        [[min(math.dist((i, j), c) for c in cells) for j in range(12)] for i in range(9)]
    )
    found = distance_to(occupied, 5)
    assert np.allclose(found[exact <= 5], exact[exact <= 5])
    assert (found[exact > 5] > 5).all()


def test_a_pose_and_its_inverse_cancel() -> None:
    pose = Pose(1.0, -2.0, 2.5)
    back = pose @ pose.inverse()
    assert (back.x, back.y, back.yaw) == pytest.approx((0.0, 0.0, 0.0))
    assert wrap(3 * math.pi) == pytest.approx(math.pi)


def test_the_robot_stops_when_no_command_comes() -> None:
    model = Nav2Model(ROOM, Pose(1.0, 3.0))
    model.robot.command(0.5, 0.0)
    model.step(0.5)
    assert model.robot.speed == pytest.approx(0.5)
    model.step(1.0)
    assert model.robot.speed == 0.0
    assert 1.2 < model.robot.true_pose.x < 1.5


def test_a_turn_on_the_spot_is_no_collision_even_where_the_robot_touches_a_wall() -> None:
    model = Nav2Model(ROOM, Pose(9.9 - 0.22 + 1e-9, 3.0))
    assert model.world.clearance(9.9 - 0.22 + 1e-9, 3.0) < 0
    for _ in range(20):
        model.robot.command(0.0, 1.0)
        model.step(0.05)
    assert model.robot.true_pose.yaw > 0.5
    assert model.robot.collisions == 0
    for _ in range(20):
        model.robot.command(0.5, 0.0)
        model.step(0.05)
    assert model.robot.collisions == 1


def test_a_wall_stops_the_robot_at_its_radius() -> None:
    model = Nav2Model(ROOM, Pose(8.9, 3.0))
    for _ in range(100):
        model.robot.command(0.5, 0.0)
        model.step(0.05)
    assert model.robot.collisions == 1
    assert 9.9 - 0.22 - 0.03 < model.robot.true_pose.x <= 9.9 - 0.22


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        (Parameters(), (2.0, 0.0)),
        (Parameters(odom_scale=1.1), (2.2, 0.0)),
        (Parameters(odom_drift=0.1), (1.99, 0.2)),
    ],
)
def test_odometry_starts_at_zero_and_drifts_as_told(parameters, expected) -> None:
    model = Nav2Model(ROOM, Pose(1.0, 3.0), parameters)
    assert model.robot.odom_pose == Pose()
    while model.robot.distance_driven < 2.0:
        model.robot.command(0.5, 0.0)
        model.step(0.05)
    assert model.robot.odom_pose.x == pytest.approx(expected[0], abs=0.03)
    assert model.robot.odom_pose.yaw == pytest.approx(expected[1], abs=0.01)


def test_odometry_noise_comes_from_the_seed() -> None:
    def end(seed: int) -> Pose:
        noisy = Parameters(odom_noise=0.05)
        model = Nav2Model(ROOM, START, noisy, Faults(seed=seed))
        sent(model, Pose(4.0, 3.0))
        return model.robot.odom_pose

    assert end(1) == end(1) != end(2)


def test_the_scan_sees_walls_and_discs() -> None:
    model = Nav2Model(ROOM, Pose(5.0, 3.0), obstacles=[Obstacle(7.0, 3.0, 0.5)])
    ranges = dict(zip(np.round(model.scan_angles(), 3), model.scan(), strict=True))
    assert ranges[0.0] == pytest.approx(1.5, abs=0.01)
    assert ranges[-3.142] == pytest.approx(4.9, abs=0.06)
    assert ranges[1.571] == pytest.approx(2.9, abs=0.06)


# --- AMCL ----------------------------------------------------------------------------------------


def amcl(**values) -> AmclModel:
    return AmclModel(Parameters(amcl_noise=0.0, **values), (100, 60), seed=0)


def scan(model: AmclModel, time: float, pose: Pose) -> int:
    """Give AMCL a scan at a pose that odometry knows exactly; return how many poses it published."""
    before = len(model.poses)
    model.scan_received(time, pose, pose)
    model.deliver(time)
    return len(model.poses) - before


def test_amcl_is_silent_without_an_initial_pose() -> None:
    model = amcl()
    assert [scan(model, t, Pose(t)) for t in (0.0, 1.0, 2.0)] == [0, 0, 0]
    assert not model.transforms
    assert not model.localised


def test_amcl_publishes_an_initial_pose_with_the_next_scan_and_then_only_after_motion() -> None:
    model = amcl()
    assert model.initial_pose(Pose())
    assert not model.poses
    moves = [Pose(), Pose(), Pose(0.25), Pose(0.26), Pose(0.26), Pose(0.26, 0.26)]
    assert [scan(model, t, pose) for t, pose in enumerate(moves)] == [1, 0, 0, 1, 0, 1]
    assert model.poses[1].pose.x == pytest.approx(0.26)
    assert model.poses[1].stamp == 3.0
    assert model.poses[1].frame_id == "map"


def test_amcl_looks_at_x_and_y_one_by_one() -> None:
    model = amcl()
    model.initial_pose(Pose())
    scan(model, 0.0, Pose())
    assert scan(model, 1.0, Pose(0.24, 0.24)) == 0  # 0.34 m away, and no update


def test_amcl_publishes_after_turning() -> None:
    model = amcl()
    model.initial_pose(Pose())
    turns = [0.0, 0.19, 0.21, 0.3, 0.42]
    assert [scan(model, t, Pose(yaw=yaw)) for t, yaw in enumerate(turns)] == [1, 0, 1, 0, 1]


def test_amcl_repeats_its_transform_with_each_scan_dated_into_the_future() -> None:
    model = amcl()
    model.initial_pose(Pose(5.0, 5.0))
    for time in range(3):
        model.scan_received(float(time), Pose(), Pose(5.0, 5.0))
        model.deliver(float(time))
    assert [transform.stamp for transform in model.transforms] == [1.0, 2.0, 3.0]
    assert {transform.transform for transform in model.transforms} == {Pose(5.0, 5.0)}


def test_amcl_takes_initial_poses_in_the_frame_of_the_map_only() -> None:
    model = amcl()
    assert not model.initial_pose(Pose(), frame_id="odom")
    assert not model.initial_pose(Pose(math.nan))
    assert not model.initial_pose(Pose(1000.0))
    assert model.initial_pose(Pose(), frame_id="/map")


def test_a_new_initial_pose_is_published_though_the_robot_stands() -> None:
    model = amcl()
    model.initial_pose(Pose())
    scan(model, 0.0, Pose())
    model.initial_pose(Pose(0.1))
    assert scan(model, 1.0, Pose()) == 1
    assert scan(model, 2.0, Pose()) == 0


def test_the_filter_converges_from_nearby_and_stays_wrong_from_far() -> None:
    near, far = amcl(), amcl()
    near.initial_pose(Pose(0.5))
    far.initial_pose(Pose(3.0))
    for step in range(12):
        for model in (near, far):
            scan(model, float(step), Pose(0.3 * step))
    assert near.poses[-1].pose.x == pytest.approx(3.3, abs=0.01)
    assert far.poses[-1].pose.x == pytest.approx(6.3, abs=0.01)
    assert near.poses[-1].variances[0] < near.poses[0].variances[0]


def test_a_nomotion_update_publishes_once() -> None:
    model = amcl()
    model.initial_pose(Pose())
    scan(model, 0.0, Pose())
    model.request_nomotion_update()
    assert [scan(model, t, Pose()) for t in (1.0, 2.0)] == [1, 0]


def test_faults_of_amcl_jump_freeze_frame_and_lag() -> None:
    model = amcl(amcl_frame_id="odom", amcl_lag=0.5)
    model.initial_pose(Pose())
    assert scan(model, 0.0, Pose()) == 0
    model.deliver(0.5)
    assert model.poses[0].frame_id == "odom"
    assert model.poses[0].stamp == 0.0
    model.jump(Pose(1.0, 0.5), until=10.0)
    scan(model, 1.0, Pose())
    scan(model, 1.5, Pose(0.3))
    model.deliver(2.0)
    assert len(model.poses) == 2  # nothing while the robot stood
    assert model.poses[1].pose == Pose(1.3, 0.5)
    model.freeze(until=8.0)
    scan(model, 5.0, Pose(3.0))
    model.deliver(7.0)
    assert len(model.poses) == 2
    scan(model, 11.0, Pose(3.0))
    model.deliver(11.5)
    assert model.poses[2].pose == Pose(3.0)


# --- planner and costmap -------------------------------------------------------------------------


def test_costs_fall_off_with_the_distance_and_unknown_stays_unknown() -> None:
    grid = ROOM.filled(4.0, 2.0, 6.0, 4.0, value=-1)
    costmap = Costmap(grid, Parameters())
    assert costmap.cost(0.05, 3.0) == LETHAL
    assert costmap.blocked(0.25, 3.0)
    along = [costmap.cost(x, 3.0) for x in (0.35, 0.45, 0.55, 0.65)]
    assert along == sorted(along, reverse=True)
    assert along[-1] > 0
    assert costmap.cost(0.95, 3.0) == 0
    assert costmap.cost(5.0, 3.0) == NO_INFORMATION


def test_paths_keep_clear_of_walls() -> None:
    costmap = Costmap(HALL, Parameters())
    path = Planner(costmap, 0.5).plan(Pose(1.0, 1.0), [Pose(9.0, 1.0, 1.0)])
    assert path.end == Pose(9.0, 1.0, 1.0)
    assert not any(costmap.blocked(x, y) for x, y in path.points)
    assert path.points[:, 1].max() > 4.0
    assert np.hypot(*np.diff(path.points, axis=0).T).max() < 0.3


def test_a_search_that_goes_on_finds_the_same_paths_as_a_new_one() -> None:
    costmap, goal = Costmap(HALL, Parameters()), [Pose(9.0, 1.0)]
    planner = Planner(costmap, 0.5)
    for x in (4.0, 3.0, 1.0, 6.0):
        for y in (0.8, 4.6):
            again = planner.plan(Pose(x, y), goal)
            new = Planner(costmap, 0.5).plan(Pose(x, y), goal)
            assert again.length_from(0) == pytest.approx(new.length_from(0), abs=0.15)


@pytest.mark.parametrize(
    ("start", "goal", "tolerance", "code"),
    [
        (Pose(-1.0, 1.0), Pose(2.0, 2.0), 0.5, 203),
        (START, Pose(11.0, 2.0), 0.5, 204),
        (START, Pose(5.0, 2.0), 0.0, 206),
    ],
)
def test_planner_errors_have_the_codes_of_navfn(start, goal, tolerance, code) -> None:
    with pytest.raises(PlanningError) as error:
        Planner(Costmap(HALL, Parameters()), tolerance).plan(start, [goal])
    assert error.value.code == code


# --- navigation ----------------------------------------------------------------------------------


def test_a_goal_succeeds_within_both_tolerances() -> None:
    model = Nav2Model(HALL, START)
    target = Pose(9.0, 1.0, -2.0)
    goal = sent(model, target)
    assert goal.status is Status.SUCCEEDED
    assert goal.result is not None
    assert (goal.result.error_code, goal.result.error_msg) == (0, "")
    assert model.robot.true_pose.distance(target) < 0.25 + 0.1
    assert abs(wrap(model.robot.true_pose.yaw - target.yaw)) < 0.25 + 0.1
    assert model.robot.collisions == 0


def test_nav2_believes_its_localisation_and_not_the_truth() -> None:
    model = Nav2Model(ROOM, START)
    step_until(model, lambda: model.amcl.localised)
    model.jump(Pose(0.0, 1.0))
    goal = sent(model, Pose(8.0, 4.0))
    assert goal.status is Status.SUCCEEDED
    assert model.robot.true_pose.distance(Pose(8.0, 4.0)) > 0.7


def test_a_goal_inside_a_wall_ends_beside_it_within_the_planners_tolerance() -> None:
    model = Nav2Model(HALL, START)
    goal = sent(model, Pose(5.0, 2.0))
    assert goal.status is Status.SUCCEEDED
    assert 0.25 < model.robot.true_pose.distance(Pose(5.0, 2.0)) < 0.5 * math.sqrt(2) + 0.3


def test_a_goal_outside_the_map_is_accepted_and_aborted_without_recoveries() -> None:
    model = Nav2Model(ROOM, START)
    goal = sent(model, Pose(50.0, 1.0))
    assert goal.accepted
    assert (goal.status, goal.result.error_code) == (Status.ABORTED, 204)
    assert goal.feedback.number_of_recoveries == 0
    assert model.time < 1.0


def test_an_unreachable_goal_is_aborted_after_six_rounds_of_recovery() -> None:
    closed = HALL.filled(4.9, 0.0, 5.2, 6.0)
    model = Nav2Model(closed, START)
    goal = sent(model, Pose(9.0, 1.0))
    assert (goal.status, goal.result.error_code) == (Status.ABORTED, 208)
    # Seven rounds of planning, each with one clearing between; clear (2), spin, wait, back up,
    # clear (2), spin.
    assert goal.feedback.number_of_recoveries == 7 + 8
    assert 5.0 + 2 * 1.57 < model.time < 30.0
    assert model.robot.distance_driven == pytest.approx(0.3, abs=0.1)


def test_without_localisation_a_goal_is_accepted_and_aborted_at_once() -> None:
    model = Nav2Model(ROOM, START, Parameters(set_initial_pose=False))
    goal = sent(model, Pose(5.0, 3.0))
    assert (goal.status, goal.result.error_code) == (Status.ABORTED, 0)
    model.amcl.initial_pose(START)
    assert sent(model, Pose(5.0, 3.0)).status is Status.SUCCEEDED


@pytest.mark.parametrize("options", [{"behavior_tree": "other.xml"}, {"frame_id": "nowhere"}])
def test_a_goal_that_cannot_be_begun_is_accepted_and_aborted(options) -> None:
    goal = sent(Nav2Model(ROOM, START), Pose(5.0, 3.0), **options)
    assert goal.accepted
    assert (goal.status, goal.result.error_code) == (Status.ABORTED, 0)


def test_goals_may_be_in_the_robots_frame() -> None:
    model = Nav2Model(ROOM, Pose(2.0, 2.0, math.pi / 2))
    assert sent(model, Pose(2.0, 0.0), frame_id="base_link").status is Status.SUCCEEDED
    assert model.robot.true_pose.distance(Pose(2.0, 4.0)) < 0.35


def test_a_new_goal_preempts_the_old_one_which_is_aborted_with_code_0() -> None:
    model = Nav2Model(ROOM, START)
    old = model.send_goal(Pose(9.0, 1.0))
    model.step(3.0)
    new = model.send_goal(Pose(1.5, 5.0))
    assert new.status is Status.EXECUTING
    assert old.status is Status.EXECUTING
    model.step(0.05)
    assert (old.status, old.result.error_code) == (Status.ABORTED, 0)
    assert model.run(new, 60.0)
    assert new.status is Status.SUCCEEDED
    assert model.robot.true_pose.distance(Pose(1.5, 5.0)) < 0.35


def test_the_newest_of_two_waiting_goals_is_taken() -> None:
    model = Nav2Model(ROOM, START)
    goals = [model.send_goal(Pose(x, 3.0)) for x in (3.0, 5.0, 7.0)]
    assert goals[1].status is Status.ABORTED
    assert model.run(goals[2], 60.0)
    assert [goal.status.name for goal in goals] == ["ABORTED", "ABORTED", "SUCCEEDED"]


def test_a_preempting_goal_is_planned_for_at_the_next_replanning() -> None:
    model = Nav2Model(ROOM, START)
    model.send_goal(Pose(9.0, 1.0))
    step_until(model, lambda: model.controller.path is not None)
    first = model.controller.path
    model.step(0.3)
    model.send_goal(Pose(1.0, 5.0))
    model.step(0.4)
    assert model.controller.path is first
    model.step(0.5)
    assert model.controller.path.end.y == 5.0


def test_a_goal_that_preempts_at_the_last_moment_inherits_the_old_success() -> None:
    """The path is replaced once a second only: until then the old path's end is what counts."""
    model = Nav2Model(ROOM, START, Parameters(replan_period=100.0))  # the next plan is far off
    model.send_goal(Pose(5.0, 1.0))
    step_until(model, lambda: model.robot.true_pose.distance(Pose(5.0, 1.0)) < 0.5)
    new = sent(model, Pose(1.0, 5.0))
    assert new.status is Status.SUCCEEDED
    assert model.robot.true_pose.distance(Pose(1.0, 5.0)) > 4.0


def test_a_goal_that_comes_as_the_old_one_succeeds_is_a_run_of_its_own() -> None:
    model = Nav2Model(ROOM, START)
    twin = Nav2Model(ROOM, START)
    sent(twin, Pose(4.0, 1.0))
    old = model.send_goal(Pose(4.0, 1.0))
    step_until(model, lambda: model.time >= twin.time - 0.06)
    new = model.send_goal(Pose(1.0, 4.0))
    model.step(0.05)
    assert old.status is Status.SUCCEEDED
    assert model.run(new, 60.0)
    assert model.robot.true_pose.distance(Pose(1.0, 4.0)) < 0.35


def test_preempting_with_another_behaviour_tree_aborts_the_new_goal() -> None:
    model = Nav2Model(ROOM, START, Parameters(behavior_trees=("other.xml",)))
    old = model.send_goal(Pose(9.0, 1.0))
    model.step(1.0)
    new = sent(model, Pose(1.0, 5.0), behavior_tree="other.xml")
    assert new.status is Status.ABORTED
    assert old.status is Status.EXECUTING
    assert model.run(old, 60.0)
    assert old.status is Status.SUCCEEDED
    assert sent(model, Pose(1.0, 5.0), behavior_tree="other.xml").status is Status.SUCCEEDED


def test_the_other_navigator_is_refused_while_one_runs() -> None:
    model = Nav2Model(ROOM, START)
    running = model.send_goal(Pose(9.0, 1.0))
    model.step(1.0)
    other = sent(model, [Pose(3.0, 3.0), Pose(1.0, 5.0)])
    assert other.accepted
    assert (other.status, other.result.error_code) == (Status.ABORTED, 0)
    assert model.run(running, 60.0)
    assert running.status is Status.SUCCEEDED


def test_cancelling_stops_the_robot() -> None:
    model = Nav2Model(ROOM, START)
    goal = model.send_goal(Pose(9.0, 1.0))
    model.step(3.0)
    assert model.cancel(goal)
    assert goal.status is Status.CANCELING
    assert not model.cancel(goal)
    model.step(0.05)
    assert (goal.status, goal.result.error_code) == (Status.CANCELED, 0)
    model.step(1.0)
    assert model.robot.speed == 0.0
    assert not model.cancel(goal)


def test_cancelling_the_waiting_goal_ends_both() -> None:
    model = Nav2Model(ROOM, START)
    old = model.send_goal(Pose(9.0, 1.0))
    model.step(1.0)
    new = model.send_goal(Pose(1.0, 5.0))
    assert model.cancel(new)
    model.step(0.05)
    assert (old.status, new.status) == (Status.ABORTED, Status.CANCELED)


def test_feedback_has_no_distance_before_the_first_path_and_then_counts_down() -> None:
    model = Nav2Model(ROOM, START)
    goal = model.send_goal(Pose(9.0, 1.0))
    step_until(model, lambda: goal.feedback_count == 1)
    assert goal.feedback.distance_remaining == 0.0
    assert goal.feedback.estimated_time_remaining == 0.0
    model.step(3.0)
    early = goal.feedback
    model.step(5.0)
    late = goal.feedback
    assert early.distance_remaining == pytest.approx(7.0, abs=0.8)
    assert early.distance_remaining > late.distance_remaining > 0
    speed = model.robot.speed
    assert late.estimated_time_remaining == pytest.approx(late.distance_remaining / speed, rel=0.05)
    assert late.navigation_time == pytest.approx(8.0, abs=0.2)
    assert late.current_pose.distance(model.robot.true_pose) < 0.1


def test_poses_on_the_way_are_passed_and_only_the_last_is_an_end() -> None:
    model = Nav2Model(ROOM, START)
    way = [Pose(4.0, 5.0), Pose(7.0, 1.0), Pose(9.0, 5.0)]
    goal, nearest, counts = model.send_goal(way), [math.inf] * 3, set()
    assert goal.action == THROUGH_POSES
    while not goal.done:
        model.step(0.05)
        pose = model.robot.true_pose
        nearest = [min(n, pose.distance(p)) for n, p in zip(nearest, way, strict=True)]
        counts.add(goal.feedback.number_of_poses_remaining if goal.feedback else 3)
    assert goal.status is Status.SUCCEEDED
    assert max(nearest) < 0.7
    assert counts == {3, 2, 1}


def test_no_poses_at_all_is_error_309() -> None:
    goal = sent(Nav2Model(ROOM, START), [])
    assert (goal.status, goal.result.error_code) == (Status.ABORTED, 309)


def test_errors_of_the_planner_have_other_numbers_through_poses() -> None:
    goal = sent(Nav2Model(ROOM, START), [Pose(3.0, 3.0), Pose(50.0, 1.0)])
    assert goal.result.error_code == 304


def test_a_robot_that_does_not_move_is_given_up_after_minutes() -> None:
    model = Nav2Model(ROOM, START)
    model.drive = lambda speed, rotation: None
    goal = sent(model, Pose(9.0, 1.0), timeout=600.0)
    assert (goal.status, goal.result.error_code) == (Status.ABORTED, 105)
    assert goal.feedback.number_of_recoveries > 7
    assert 140.0 < model.time < 300.0  # seven rounds of twice 10 s, and the recoveries


def test_error_messages_are_empty_as_in_jazzy_unless_wanted() -> None:
    quiet, told = (
        sent(Nav2Model(ROOM, START, Parameters(error_messages=on)), Pose(50.0, 1.0))
        for on in (False, True)
    )
    assert quiet.result.error_msg == ""
    assert told.result.error_msg == "GOAL_OUTSIDE_MAP"


# --- obstacles and keep-out zones ----------------------------------------------------------------


def test_an_obstacle_in_a_corridor_costs_recoveries_until_it_goes() -> None:
    model = Nav2Model(CORRIDOR, Pose(1.0, 0.7), obstacles=[Obstacle(5.0, 0.7, 0.4, end=14.0)])
    goal = sent(model, Pose(9.0, 0.7))
    assert goal.status is Status.SUCCEEDED
    assert goal.feedback.number_of_recoveries > 0
    assert model.time > 14.0 + 5.0 / 0.5
    assert model.robot.collisions == 0


def test_an_obstacle_that_stays_in_a_corridor_ends_the_goal() -> None:
    model = Nav2Model(CORRIDOR, Pose(1.0, 0.7), obstacles=[Obstacle(5.0, 0.7, 0.4)])
    goal = sent(model, Pose(9.0, 0.7), timeout=400.0)
    assert goal.status is Status.ABORTED
    assert goal.result.error_code in (104, 105, 208)
    assert model.robot.true_pose.x < 4.6


def test_a_robot_with_room_drives_around_an_obstacle() -> None:
    model = Nav2Model(ROOM, Pose(1.0, 3.0), obstacles=[Obstacle(5.0, 3.0, 0.5)])
    goal = sent(model, Pose(9.0, 3.0))
    assert goal.status is Status.SUCCEEDED
    assert model.robot.collisions == 0
    assert model.time < 40.0


def visits(model: Nav2Model, goal, x0: float, y0: float, x1: float, y1: float) -> bool:
    """Drive a goal to its end; return whether the robot's centre was in the rectangle."""
    inside = False
    while not goal.done:
        model.step(0.05)
        pose = model.robot.true_pose
        inside |= x0 <= pose.x <= x1 and y0 <= pose.y <= y1
    return inside


def test_a_keep_out_zone_is_driven_around() -> None:
    zone = (4.0, 0.0, 6.0, 4.0)
    free, kept = Nav2Model(ROOM, START), Nav2Model(ROOM, START)
    kept.set_keepout(ROOM.blank().filled(*zone))
    goals = [model.send_goal(Pose(9.0, 1.0)) for model in (free, kept)]
    assert visits(free, goals[0], *zone)
    assert not visits(kept, goals[1], *zone)
    assert [goal.status for goal in goals] == [Status.SUCCEEDED] * 2


def test_a_mask_that_comes_on_the_way_changes_the_path_at_the_next_replanning() -> None:
    model = Nav2Model(ROOM, START)
    goal = model.send_goal(Pose(9.0, 1.0))
    model.step(2.0)
    model.set_keepout(ROOM.blank().filled(5.0, 0.0, 6.0, 4.0))
    assert not visits(model, goal, 5.0, 0.0, 6.0, 4.0)
    assert goal.status is Status.SUCCEEDED
    model.set_keepout(None)
    assert visits(model, model.send_goal(Pose(1.0, 1.0)), 5.0, 0.0, 6.0, 4.0)


def test_values_of_a_mask_are_scaled_and_unknown_says_nothing() -> None:
    costmap = Costmap(ROOM, Parameters())
    mask = ROOM.blank().filled(2.0, 2.0, 3.0, 3.0, 50).filled(4.0, 2.0, 5.0, 3.0, -1)
    costmap.set_keepout(mask.filled(6.0, 2.0, 7.0, 3.0, 100))
    assert costmap.cost(2.5, 2.5) == 127
    assert costmap.cost(4.5, 2.5) == 0
    assert costmap.cost(6.5, 2.5) == LETHAL
    assert costmap.cost(7.15, 2.5) == 0  # a filter is not inflated


def test_a_coarser_mask_at_another_place_is_laid_over_the_costmap() -> None:
    costmap = Costmap(ROOM, Parameters())
    costmap.set_keepout(Grid(np.full((2, 2), 100, dtype=np.int8), 0.5, 3.0, 2.0))
    assert costmap.cost(3.5, 2.5) == LETHAL
    assert costmap.cost(2.9, 2.5) == costmap.cost(4.1, 2.5) == 0


@pytest.mark.parametrize(("override", "status"), [(False, "ABORTED"), (True, "SUCCEEDED")])
def test_a_robot_inside_a_keep_out_zone_is_stuck_unless_costs_are_overridden(
    override, status
) -> None:
    model = Nav2Model(ROOM, Pose(3.0, 3.0), Parameters(override_lethal_cost=override))
    model.set_keepout(ROOM.blank().filled(2.0, 2.0, 4.0, 4.0))
    goal = sent(model, Pose(8.0, 3.0))
    assert goal.status.name == status
    assert goal.result.error_code == (0 if override else 208)


# --- faults --------------------------------------------------------------------------------------


def scripted(*kinds: str, **values) -> Nav2Model:
    return Nav2Model(ROOM, START, faults=Faults(script={0: kinds}, **values))


def test_rejected() -> None:
    model = scripted("reject")
    goal = model.send_goal(Pose(9.0, 1.0))
    assert not goal.accepted
    assert goal.status is Status.UNKNOWN
    model.step(5.0)
    assert model.robot.distance_driven == 0.0
    assert model.send_goal(Pose(9.0, 1.0)).accepted


def test_aborted_after_a_time() -> None:
    model = scripted("abort", abort=Fault(after=(4.0, 4.0)), abort_error_code=208)
    goal = sent(model, Pose(9.0, 1.0))
    assert (goal.status, goal.result.error_code) == (Status.ABORTED, 208)
    assert model.time == pytest.approx(4.0, abs=0.2)


def test_hung_for_ever_without_feedback_but_a_new_goal_preempts() -> None:
    model = scripted("hang")
    goal = model.send_goal(Pose(9.0, 1.0))
    model.step(10.0)
    count, driven = goal.feedback_count, model.robot.distance_driven
    model.step(500.0)
    assert (goal.status, goal.feedback_count) == (Status.EXECUTING, count)
    assert model.robot.distance_driven == driven
    assert sent(model, Pose(9.0, 1.0)).status is Status.SUCCEEDED
    assert goal.status is Status.ABORTED


def test_a_hung_server_takes_requests_and_does_nothing() -> None:
    model = scripted("hang", hang_blocks_server=True)
    goal = model.send_goal(Pose(9.0, 1.0))
    model.step(10.0)
    assert model.cancel(goal)
    new = model.send_goal(Pose(3.0, 1.0))
    model.step(100.0)
    assert (goal.status, new.status) == (Status.CANCELING, Status.EXECUTING)


def test_lies() -> None:
    away = scripted("lie_success")
    goal = sent(away, Pose(9.0, 1.0))
    assert goal.status is Status.SUCCEEDED
    assert away.robot.true_pose.distance(Pose(9.0, 1.0)) > 3.0
    there = scripted("lie_abort")
    goal = sent(there, Pose(5.0, 1.0))
    assert goal.status is Status.ABORTED
    assert there.robot.true_pose.distance(Pose(5.0, 1.0)) < 0.35


def test_slow_planning_makes_the_robot_wait() -> None:
    model = scripted("slow_planning", slow_planning=Fault(duration=(6.0, 6.0)))
    goal = model.send_goal(Pose(9.0, 1.0))
    model.step(5.9)
    assert model.robot.distance_driven == 0.0
    assert goal.feedback.distance_remaining == 0.0
    assert model.run(goal, 60.0)
    assert goal.status is Status.SUCCEEDED


def test_a_server_that_comes_late_and_goes_again() -> None:
    model = Nav2Model(ROOM, START, faults=Faults(server_absent=((0.0, 3.0), (8.0, 10.0))))
    with pytest.raises(ServerUnavailableError):
        model.send_goal(Pose(9.0, 1.0))
    model.step(3.0)
    goal = model.send_goal(Pose(9.0, 1.0))
    model.step(6.0)
    assert goal.lost
    assert goal.status is Status.EXECUTING
    driven = model.robot.distance_driven
    model.step(1.0)
    assert model.robot.distance_driven == driven
    assert sent(model, Pose(9.0, 1.0)).status is Status.SUCCEEDED


def test_an_obstacle_appears_on_the_path() -> None:
    model = scripted("obstacle", obstacle=Fault(after=(3.0, 3.0), duration=(20.0, 20.0)))
    goal = model.send_goal(Pose(9.0, 1.0))
    model.step(4.0)
    (disc,) = model.world.obstacles
    assert disc.end - disc.begin == pytest.approx(20.0)
    assert model.run(goal, 120.0)
    assert goal.status is Status.SUCCEEDED
    assert model.robot.collisions == 0


@pytest.mark.parametrize("keep", [False, True])
def test_a_frozen_amcl_ends_the_goal_when_its_transform_is_too_old(keep) -> None:
    model = scripted(
        "amcl_freeze",
        amcl_freeze=Fault(after=(2.0, 2.0), duration=(60.0, 60.0)),
        freeze_keeps_transform=keep,
    )
    goal = model.send_goal(Pose(9.0, 1.0))
    model.step(2.2)
    said = model.amcl.published
    assert model.run(goal, 60.0)
    assert model.amcl.published == said
    if keep:  # the odometry is perfect here: the robot gets there without AMCL
        assert goal.status is Status.SUCCEEDED
    else:
        assert goal.status is Status.ABORTED
        assert goal.result.error_code in (102, 202)
        assert 3.0 < model.time < 5.0


def test_a_jump_of_amcl_lasts_until_an_initial_pose() -> None:
    model = scripted("amcl_jump", jump=Pose(0.0, 1.5))
    goal = sent(model, Pose(9.0, 3.0))
    assert model.robot.true_pose.distance(Pose(9.0, 3.0)) > 1.0
    model.amcl.initial_pose(model.robot.true_pose)
    goal = sent(model, Pose(5.0, 3.0))
    assert goal.status is Status.SUCCEEDED
    assert model.robot.true_pose.distance(Pose(5.0, 3.0)) < 0.35


def test_each_fault_has_a_random_stream_of_its_own() -> None:
    def drawn(**values) -> list[set[str]]:
        model = Nav2Model(ROOM, START, faults=Faults(seed=5, **values))
        return [set(model.send_goal(START).faults) for _ in range(200)]

    alone, both = drawn(reject=Fault(0.3)), drawn(reject=Fault(0.3), hang=Fault(0.5))
    assert [kinds & {"reject"} for kinds in both] == alone
    assert 40 < sum("reject" in kinds for kinds in alone) < 80
    assert drawn() == [set()] * 200


def test_runs_with_a_seed_are_the_same_again() -> None:
    def history(seed: int) -> list[tuple]:
        model = Nav2Model(HALL, START, faults=Faults.random(0.15, seed))
        rows = []
        for target in (Pose(9.0, 1.0), Pose(1.0, 5.0), Pose(8.0, 5.0)) * 3:
            goal = model.send_goal(target)
            model.run(goal, 60.0)
            rows.append((goal.accepted, goal.status, goal.result, model.robot.true_pose))
        return rows

    assert history(3) == history(3)
    assert history(3) != history(4)


def test_every_goal_ends_or_has_a_fault_that_says_why() -> None:
    for seed in range(15):
        model = Nav2Model(HALL, START, faults=Faults.random(0.05, seed))
        for x, y in ((9.0, 1.0), (2.0, 5.0), (8.0, 5.0), (1.0, 1.0)):
            goal = model.send_goal(Pose(x, y))
            if not model.run(goal, 400.0):
                assert "hang" in goal.faults
            assert set(goal.faults) <= set(FAULT_KINDS)


def test_step_takes_any_time_and_counts_whole_ticks() -> None:
    model = Nav2Model(ROOM, START)
    for _ in range(10):
        model.step(0.031)
    assert model.time == pytest.approx(0.3)
