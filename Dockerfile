# skm with the ROS 2 wheels and what `skm demo` needs: docker build -t skm . && docker run --rm skm demo
FROM python:3.11-slim-bookworm AS build
RUN apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends cmake g++ make \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /skm
COPY . .
# As `make demo` does, and the page and recordings besides: pinned packages, then skm's own interfaces.
RUN python tools/install.py .venv demo \
 && .venv/bin/pip install --no-cache-dir --no-deps -r requirements/web.txt -r requirements/record.txt \
 && .venv/bin/python tools/build_interfaces.py

FROM python:3.11-slim-bookworm
COPY --from=build /skm /skm
WORKDIR /skm
ENV PATH=/skm/.venv/bin:$PATH
# Nobody needs root to run a mission; runs/ is where recordings and pictures go.
RUN useradd --create-home robot && mkdir -p /skm/runs && chown robot /skm/runs
USER robot
ENTRYPOINT ["skm"]
CMD ["demo"]
