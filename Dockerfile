# Typernetes as an image: docker build -t typernetes . && docker run --rm -p 6443:6443 typernetes
# Without --privileged the cluster has a simulated node; with it, pods run in real containers.
FROM node:26-bookworm-slim AS build
WORKDIR /build
COPY . .
RUN npm install --ignore-scripts --no-audit --no-fund && mkdir /package && npm pack --pack-destination /package

FROM node:26-bookworm-slim
RUN apt-get update && apt-get install --yes --no-install-recommends conntrack iproute2 iptables nftables util-linux && rm -rf /var/lib/apt/lists/*
COPY --from=build /package/*.tgz /tmp/typernetes.tgz
RUN npm install --global --ignore-scripts --no-audit --no-fund /tmp/typernetes.tgz && rm /tmp/typernetes.tgz && typernetes version
VOLUME /var/lib/typernetes
EXPOSE 6443
ENTRYPOINT ["typernetes"]
CMD ["up", "--listen", "0.0.0.0", "--data-dir", "/var/lib/typernetes"]
