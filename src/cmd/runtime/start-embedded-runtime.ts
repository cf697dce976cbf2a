import type { Clock } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import { nodeHttpClient } from '#base/http-client.ts'
import type { Stage } from '#base/lifecycle.ts'
import type { Logger } from '#base/log.ts'
import { nodeProcesses } from '#base/processes.ts'
import type { Random } from '#base/random.ts'
import { podNetworking } from '#cmd/runtime/pod-networking.ts'
import { version } from '#cmd/version.ts'
import { EmbeddedRuntime } from '#runtime/service/embedded-runtime.ts'
import { InProcessConnection } from '#runtime/service/in-process-connection.ts'

export type EmbeddedPlace = { directory: string; cniConfigDirectory: string; cniBinDirectory: string }
type Seams = { files: Files; clock: Clock; random: Random; logger: Logger }

/** Containers in this process; they are left running at the end. */
export async function startEmbeddedRuntime(stage: Stage, place: EmbeddedPlace, seams: Seams): Promise<InProcessConnection> {
  const runtime = await openEmbeddedRuntime(place, seams)
  stage.defer(() => runtime[Symbol.asyncDispose]())
  return stage.use(new InProcessConnection(runtime))
}

export function openEmbeddedRuntime(
  { directory, cniConfigDirectory, cniBinDirectory }: EmbeddedPlace,
  seams: Seams,
): Promise<EmbeddedRuntime> {
  const { files } = seams
  const networking = podNetworking(
    { configDirectory: cniConfigDirectory, binDirectory: cniBinDirectory },
    { files, processes: nodeProcesses },
  )
  const logger = seams.logger.with({ component: 'runtime' })
  return EmbeddedRuntime.open(
    { directory, version, networking },
    { ...seams, logger, processes: nodeProcesses, http: () => nodeHttpClient() },
  )
}
