# syntax=docker/dockerfile:1
# convrag in a container. Two targets:
#
#   docker build --target light -t convrag .          what `pip install convrag` brings; LLMs at servers, BM25
#   docker build --target full -t convrag:full .      with embedders and rankers on the CPU, and the server
#
#   docker run --rm -v convrag:/data/outputs convrag
#   docker run --rm -p 127.0.0.1:8642:8642 -e CONVRAG_TOKEN -v "$PWD/handbook:/data/handbook:ro" convrag:full \
#     task=serve task.host=0.0.0.0 dataset=documents dataset.path=handbook

FROM python:3.11-slim-bookworm AS wheel
WORKDIR /source
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.11-slim-bookworm AS light
# A volume gets the owner of the folder that it is mounted on, so outputs must be there.
RUN useradd --create-home --uid 10001 convrag && mkdir -p /data/outputs && chown -R convrag /data
COPY --from=wheel /wheels /wheels
COPY constraints.txt /constraints.txt
RUN pip install --no-cache-dir -c /constraints.txt /wheels/*.whl
USER 10001
WORKDIR /data
VOLUME /data/outputs
ENTRYPOINT ["convrag"]

FROM light AS full
USER 0
# The extra index has torch without CUDA, which saves several gigabytes.
RUN wheel="$(echo /wheels/*.whl)" && pip install --no-cache-dir -c /constraints.txt \
      --extra-index-url https://download.pytorch.org/whl/cpu \
      "${wheel}[documents,elasticsearch,litellm,mcp,opensearch,neural,pgvector,plots,postgres,serve]"
USER 10001
EXPOSE 8642
