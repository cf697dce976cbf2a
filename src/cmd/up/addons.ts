import type { RunningApiServer } from '#apiserver/run-api-server.ts'
import type { Stage } from '#base/lifecycle.ts'
import { clientInProcess } from '#cmd/all-in-one/client-in-process.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'
import { startAddonManager } from '#controllers/addon-manager/addon-manager.ts'

/** May do everything, as add-ons may be anything. */
export function startAddons(stage: Stage, apiServer: RunningApiServer, directory: string, { clock, files, logger }: ClusterSeams): void {
  const client = clientInProcess(apiServer, 'system:addon-manager', ['system:masters'])
  stage.use(startAddonManager({ client, directory, files, clock, logger: logger.with({ component: 'addon-manager' }) }))
}
