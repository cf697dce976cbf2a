import type { Stage } from '#base/lifecycle.ts'
import type { Client } from '#client/client.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'
import { startAddonManager } from '#controllers/addon-manager/addon-manager.ts'

/** `client` may do everything, as add-ons may be anything. */
export function startAddons(stage: Stage, client: Client, directory: string, { clock, files, logger }: ClusterSeams): void {
  stage.use(startAddonManager({ client, directory, files, clock, logger: logger.with({ component: 'addon-manager' }) }))
}
