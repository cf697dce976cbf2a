import type { RunningApiServer } from '#apiserver/run-api-server.ts'
import type { HttpExchange } from '#base/http-server.ts'
import type { Stage } from '#base/lifecycle.ts'
import { clientInProcess } from '#cmd/all-in-one/client-in-process.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'
import { apiServiceName, keepApiServices } from '#metrics-server/keep-api-services.ts'
import { metricsApi, metricsGroup, metricsVersion } from '#metrics-server/metrics-api.ts'
import { UsageCollector } from '#metrics-server/usage-collector.ts'

const api = { group: metricsGroup, version: metricsVersion, priority: 100, serviceName: 'metrics-server' }
export const metricsReaders = {
  name: 'typernetes:aggregated-metrics-reader',
  rules: [{ apiGroups: [metricsGroup], resources: ['pods', 'nodes'], verbs: ['get', 'list', 'watch'] }],
}

/** `extensions` is where the API server looks for servers in its own process. */
export async function startMetricsServer(
  stage: Stage,
  apiServer: RunningApiServer,
  extensions: Map<string, (exchange: HttpExchange) => void>,
  { clock, random, logger: given }: ClusterSeams,
): Promise<void> {
  const logger = given.with({ component: 'metrics-server' })
  const client = clientInProcess(apiServer, 'system:metrics-server', ['system:masters'])
  const usage = stage.use(new UsageCollector({ client, clock, logger }))
  extensions.set(apiServiceName(api), metricsApi({ client, usage, clock }))
  stage.use(await keepApiServices({ apis: [api], readers: metricsReaders, client, clock, random, logger }))
}
