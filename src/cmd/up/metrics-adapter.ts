import type { RunningApiServer } from '#apiserver/run-api-server.ts'
import { nodeHttpClient } from '#base/http-client.ts'
import type { HttpExchange } from '#base/http-server.ts'
import type { Stage } from '#base/lifecycle.ts'
import { type DiscoveredResource, discover } from '#client/discovery.ts'
import { clientInProcess } from '#cmd/all-in-one/client-in-process.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'
import type { UpOptions } from '#cmd/up/options.ts'
import { parseAdapterRules } from '#metrics-server/adapter/adapter-rule.ts'
import { customMetricsApi, customMetricsGroup } from '#metrics-server/adapter/custom-metrics-api.ts'
import { defaultAdapterRules } from '#metrics-server/adapter/default-adapter-rules.ts'
import { externalMetricsApi, externalMetricsGroup } from '#metrics-server/adapter/external-metrics-api.ts'
import { together } from '#metrics-server/adapter/metrics-provider.ts'
import { Prometheus } from '#metrics-server/adapter/prometheus.ts'
import { PrometheusProvider } from '#metrics-server/adapter/prometheus-provider.ts'
import { PushedMetrics } from '#metrics-server/adapter/pushed-metrics.ts'
import { apiServiceName, type BuiltInApi, keepApiServices } from '#metrics-server/keep-api-services.ts'

const serviceName = 'custom-metrics-apiserver'
const customVersions = ['v1beta1', 'v1beta2'] as const
const external: BuiltInApi = { group: externalMetricsGroup, version: 'v1beta1', priority: 100, serviceName }
const custom = customVersions.map(
  (version, index): BuiltInApi => ({ group: customMetricsGroup, version, priority: 100 * (index + 1), serviceName }),
)
const readers = {
  name: 'typernetes:aggregated-custom-metrics-reader',
  rules: [{ apiGroups: [customMetricsGroup, externalMetricsGroup], resources: ['*'], verbs: ['get', 'list'] }],
}
const discoveryMs = 30_000

/** `extensions` is where the API server looks for servers in its own process. */
export async function startMetricsAdapter(
  stage: Stage,
  {
    apiServer,
    options,
    extensions,
  }: { apiServer: RunningApiServer; options: UpOptions; extensions: Map<string, (exchange: HttpExchange) => void> },
  { clock, random, files, logger: given }: ClusterSeams,
): Promise<void> {
  const logger = given.with({ component: 'metrics-adapter' })
  const client = clientInProcess(apiServer, 'system:metrics-adapter', ['system:masters'])
  const { metricsAdapterConfig: path, prometheusUrl: url } = options
  const rules = path === '' ? defaultAdapterRules : parseAdapterRules(await files.readText(path))
  let known: { at: number; resources: Promise<readonly DiscoveredResource[]> } | undefined
  const resources = () => {
    if (known === undefined || clock.now() - known.at > discoveryMs)
      known = { at: clock.now(), resources: discover(client).then((found) => found.resources) }
    known.resources.catch(() => {
      known = undefined
    })
    return known.resources
  }
  const pushed = new PushedMetrics(clock)
  const providers = [
    pushed,
    ...(url === '' ? [] : [new PrometheusProvider({ prometheus: prometheusAt(url), rules, resources, clock, logger })]),
  ]
  function prometheusAt(address: string): Prometheus {
    return new Prometheus({ url: address, http: stage.use(nodeHttpClient({ resendsOnClosedConnection: true })), clock })
  }
  const provider = together(providers)
  for (const version of customVersions)
    extensions.set(
      apiServiceName({ group: customMetricsGroup, version }),
      customMetricsApi({ version, provider, pushed, client, resources, clock }),
    )
  extensions.set(apiServiceName(external), externalMetricsApi({ provider, pushed, clock }))
  stage.use(await keepApiServices({ apis: [...custom, external], readers, client, clock, random, logger }))
}
