import type { RunningApiServer } from '#apiserver/run-api-server.ts'
import type { Stage } from '#base/lifecycle.ts'
import { clientInProcess } from '#cmd/all-in-one/client-in-process.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'
import { installDefinitions } from '#controllers/kit/install-definitions.ts'
import { ControllerManager } from '#controllers/runtime/controller-manager.ts'
import { defaultSettings } from '#controllers/runtime/settings.ts'
import { serviceCatalogResources } from '#controllers/service-catalog/definitions.ts'
import { serviceCatalogControllers } from '#controllers/service-catalog/service-catalog.ts'

/** Resolves when its kinds are served and looked after. */
export async function startServiceCatalog(
  stage: Stage,
  apiServer: RunningApiServer,
  { clock, random, logger }: ClusterSeams,
): Promise<void> {
  const client = clientInProcess(apiServer, 'system:service-catalog', ['system:masters'])
  await installDefinitions(client, serviceCatalogResources, { clock, signal: stage.signal })
  const manager = new ControllerManager({
    ...{ controllers: serviceCatalogControllers(), client, clock, random, settings: defaultSettings },
    logger: logger.with({ component: 'service-catalog' }),
  })
  stage.defer(() => manager.stop())
  await manager.start(stage.signal)
}
