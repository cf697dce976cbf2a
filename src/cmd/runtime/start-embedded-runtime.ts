import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Files } from '#base/files.ts'
import { nodeHttpClient } from '#base/http-client.ts'
import type { Stage } from '#base/lifecycle.ts'
import type { Logger } from '#base/log.ts'
import { thisProcess } from '#base/machine.ts'
import { nodeProcesses, type Processes } from '#base/processes.ts'
import type { Random } from '#base/random.ts'
import { findOciRuntime } from '#cmd/runtime/find-oci-runtime.ts'
import { podNetworking } from '#cmd/runtime/pod-networking.ts'
import { version } from '#cmd/version.ts'
import { embeddedProvider } from '#runtime/service/cri-service.ts'
import { EmbeddedRuntime } from '#runtime/service/embedded-runtime.ts'
import { InProcessConnection } from '#runtime/service/in-process-connection.ts'
import { serveCri } from '#runtime/service/serve-cri.ts'

export type EmbeddedPlace = {
  directory: string
  cniConfigDirectory: string
  cniBinDirectory: string
  /** runc, crun or another that makes containers, by name or path. */
  ociRuntime?: string
}
/** `processes` may be in another network namespace, where the pods' bridge is. */
export type EmbeddedSeams = { files: Files; clock: Clock; random: Random; logger: Logger; processes?: Processes }

/** Containers in this process; they are left running at the end. */
export async function startEmbeddedRuntime(stage: Stage, place: EmbeddedPlace, seams: EmbeddedSeams): Promise<InProcessConnection> {
  const runtime = await openEmbeddedRuntime(place, seams)
  stage.defer(() => runtime[Symbol.asyncDispose]())
  // For `typernetes images`, crictl and the like. The node need not wait for it.
  const serving = serveCri(embeddedProvider(runtime), runtime.paths.socket, seams.files).catch((error: unknown) => {
    seams.logger.warn('failed to serve CRI at a socket', { socket: runtime.paths.socket, error: errorMessage(error) })
    return undefined
  })
  stage.defer(async () => void (await (await serving)?.close()))
  return stage.use(new InProcessConnection(embeddedProvider(runtime)))
}

export async function openEmbeddedRuntime(
  { directory, cniConfigDirectory, cniBinDirectory, ociRuntime: program = '' }: EmbeddedPlace,
  seams: EmbeddedSeams,
): Promise<EmbeddedRuntime> {
  const { files, processes = nodeProcesses } = seams
  const networking = podNetworking(
    { configDirectory: cniConfigDirectory, binDirectory: cniBinDirectory },
    { files, processes, clock: seams.clock },
  )
  const logger = seams.logger.with({ component: 'runtime' })
  const { userNamespace: rootless } = thisProcess
  const ociRuntime = await findOciRuntime(program, files)
  return EmbeddedRuntime.open(
    { directory, version, networking, ...defined({ rootless, ociRuntime }) },
    { ...seams, logger, processes, http: () => nodeHttpClient() },
  )
}
