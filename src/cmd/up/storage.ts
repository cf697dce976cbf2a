/** The storage of a cluster in one process: it reaches the API server without a socket. */
import type { RunningApiServer } from '#apiserver/run-api-server.ts'
import type { Stage } from '#base/lifecycle.ts'
import { clientInProcess } from '#cmd/all-in-one/client-in-process.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'
import { startStorage } from '#controllers/csi/start-storage.ts'

/** Resolves when claims are served. */
export async function startClusterStorage(
  stage: Stage,
  apiServer: RunningApiServer,
  { isDefault }: { isDefault: boolean },
  { clock, random, logger }: ClusterSeams,
): Promise<void> {
  const client = clientInProcess(apiServer, 'typernetes:storage', ['system:masters'])
  const running = new AsyncDisposableStack()
  stage.defer(() => running.disposeAsync())
  await startStorage(running, {
    ...{ client, clock, random, isDefault, signal: stage.signal },
    logger: logger.with({ component: 'storage' }),
  })
}
