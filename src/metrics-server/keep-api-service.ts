/** Puts the metrics API into the cluster, and back again when it was taken out. */
import { APIService } from '#api/apiregistration/v1/kinds.gen.ts'
import { isAlreadyExists } from '#api/meta/server-response.ts'
import { ClusterRole } from '#api/rbac/v1/kinds.gen.ts'
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import { Informer } from '#client/informer/informer.ts'
import { metricsGroup, metricsVersion } from '#metrics-server/metrics-api.ts'

export const metricsApiServiceName = `${metricsVersion}.${metricsGroup}`

export type KeepOptions = { client: Client; clock: Clock; random: Random; logger: Logger }

const labels = { 'k8s-app': 'metrics-server' }

const service = {
  // It gives way to whoever creates another one of this name.
  metadata: { name: metricsApiServiceName, labels, annotations: { 'typernetes.dev/built-in': 'true' } },
  spec: {
    ...{ group: metricsGroup, version: metricsVersion, groupPriorityMinimum: 100, versionPriority: 100, insecureSkipTLSVerify: true },
    service: { namespace: 'kube-system', name: 'metrics-server', port: 443 },
  },
}

/** Whoever may view a namespace may see what its pods use. */
const reader = {
  metadata: {
    name: 'typernetes:aggregated-metrics-reader',
    labels: {
      ...labels,
      'rbac.authorization.k8s.io/aggregate-to-admin': 'true',
      'rbac.authorization.k8s.io/aggregate-to-edit': 'true',
      'rbac.authorization.k8s.io/aggregate-to-view': 'true',
    },
  },
  rules: [{ apiGroups: [metricsGroup], resources: ['pods', 'nodes'], verbs: ['get', 'list', 'watch'] }],
}

/** Resolves when it is there. What somebody else has put in its place stays. */
export async function keepApiService({ client, clock, random, logger }: KeepOptions): Promise<Disposable> {
  const ignoringThere = (error: unknown) => {
    if (!isAlreadyExists(error)) throw error
  }
  const ensure = async () => {
    await client.create(ClusterRole, reader).catch(ignoringThere)
    await client.create(APIService, service).catch(ignoringThere)
  }
  await ensure()
  const services = new Informer({ client, clock, random, logger, kind: APIService })
  services.addHandler({
    onDelete({ metadata: { name } }) {
      if (name !== metricsApiServiceName) return
      ensure().catch((error: unknown) => logger.warn('failed to create APIService', { apiService: name, error: String(error) }))
    },
  })
  services.start()
  return { [Symbol.dispose]: () => services.stop() }
}
