import { errorMessage } from '#base/error-message.ts'
import type { Stage } from '#base/lifecycle.ts'
import { nodeProcesses } from '#base/processes.ts'
import { thisProcessor } from '#base/system-calls.ts'
import { dockerEndpointOf, endpointFile } from '#cmd/runtime/docker-endpoint.ts'
import { podNetworking } from '#cmd/runtime/pod-networking.ts'
import type { EmbeddedPlace, EmbeddedSeams } from '#cmd/runtime/start-embedded-runtime.ts'
import { ensureSandboxImage } from '#kubelet/images/import-image.ts'
import { sandboxImageName } from '#kubelet/images/sandbox-image.ts'
import { removeAllPods } from '#kubelet/runtimes/cri/private-containerd.ts'
import { DockerRuntime } from '#runtime/docker/docker-runtime.ts'
import { runtimePaths } from '#runtime/runtime-paths.ts'
import { InProcessConnection } from '#runtime/service/in-process-connection.ts'
import { serveCri } from '#runtime/service/serve-cri.ts'

export type DockerPlace = EmbeddedPlace & { endpoint: string; sandboxImage?: string }

/** Containers of Docker's; they are left running at the end. */
export async function startDockerRuntime(stage: Stage, place: DockerPlace, seams: EmbeddedSeams): Promise<InProcessConnection> {
  const { files, clock, logger } = seams
  const runtime = await openDockerRuntime(place, seams)
  stage.defer(() => runtime[Symbol.asyncDispose]())
  await files.write(endpointFile(place.directory), place.endpoint)
  const { socket } = runtimePaths(place.directory)
  // For `typernetes images`, crictl and the like. The node need not wait for it.
  const serving = serveCri(runtime, socket, files).catch((error: unknown) => {
    logger.warn('failed to serve CRI at a socket', { socket, error: errorMessage(error) })
    return undefined
  })
  stage.defer(async () => void (await (await serving)?.close()))
  const connection = stage.use(new InProcessConnection(runtime))
  if (place.sandboxImage === undefined)
    await ensureSandboxImage(connection, thisProcessor === 'arm64' ? 'arm64' : 'amd64', { files, clock })
  return connection
}

function openDockerRuntime(place: DockerPlace, seams: EmbeddedSeams): Promise<DockerRuntime> {
  const { directory, endpoint, cniConfigDirectory, cniBinDirectory, sandboxImage = sandboxImageName } = place
  const { files, processes = nodeProcesses } = seams
  const networking = podNetworking(
    { configDirectory: cniConfigDirectory, binDirectory: cniBinDirectory },
    { files, processes, clock: seams.clock },
  )
  const logger = seams.logger.with({ component: 'runtime' })
  return DockerRuntime.open({ endpoint, directory, sandboxImage, networking }, { ...seams, logger, processes })
}

/** Ends everything that an agent has left running in Docker. Resolves false where none ever did. */
export async function removeDockerPods(place: EmbeddedPlace, seams: EmbeddedSeams): Promise<boolean> {
  const endpoint = await dockerEndpointOf(place.directory, seams)
  if (endpoint === undefined) return false
  await using runtime = await openDockerRuntime({ ...place, endpoint }, seams)
  using connection = new InProcessConnection(runtime)
  await removeAllPods(connection)
  return true
}
