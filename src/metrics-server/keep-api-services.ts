/** Puts APIs of this process into the cluster, and back again when they were taken out. */
import { APIService } from '#api/apiregistration/v1/kinds.gen.ts'
import { isAlreadyExists } from '#api/meta/server-response.ts'
import { ClusterRole } from '#api/rbac/v1/kinds.gen.ts'
import type { V1PolicyRule } from '#api/rbac/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import { Informer } from '#client/informer/informer.ts'

/** A group version that this process answers, under the name of the service that others would serve it from. */
export type BuiltInApi = { group: string; version: string; priority: number; serviceName: string }

export type KeepOptions = {
  apis: readonly BuiltInApi[]
  /** Who may view a namespace may read these. */
  readers: { name: string; rules: V1PolicyRule[] }
  client: Client
  clock: Clock
  random: Random
  logger: Logger
}

export const apiServiceName = ({ group, version }: Pick<BuiltInApi, 'group' | 'version'>): string => `${version}.${group}`

function apiServiceOf({ group, version, priority, serviceName }: BuiltInApi) {
  // It gives way to whoever creates another one of this name.
  const annotations = { 'typernetes.dev/built-in': 'true' }
  return {
    metadata: { name: apiServiceName({ group, version }), labels: { 'k8s-app': serviceName }, annotations },
    spec: {
      ...{ group, version, groupPriorityMinimum: 100, versionPriority: priority, insecureSkipTLSVerify: true },
      service: { namespace: 'kube-system', name: serviceName, port: 443 },
    },
  }
}

const retryMs = 1000

export const readerLabels = {
  'rbac.authorization.k8s.io/aggregate-to-admin': 'true',
  'rbac.authorization.k8s.io/aggregate-to-edit': 'true',
  'rbac.authorization.k8s.io/aggregate-to-view': 'true',
}

/** Resolves when they are there. What somebody else has put in their place stays. */
export async function keepApiServices({ apis, readers, client, clock, random, logger }: KeepOptions): Promise<Disposable> {
  const ignoringThere = (error: unknown) => {
    if (!isAlreadyExists(error)) throw error
  }
  const ensure = async (api: BuiltInApi) => {
    await client.create(ClusterRole, { metadata: { name: readers.name, labels: readerLabels }, rules: readers.rules }).catch(ignoringThere)
    await client.create(APIService, apiServiceOf(api)).catch(ignoringThere)
  }
  const over = new AbortController()
  const ensureAtLast = async (api: BuiltInApi) => {
    while (!over.signal.aborted) {
      try {
        return await ensure(api)
      } catch (error) {
        logger.warn('failed to create APIService, retrying', { apiService: apiServiceName(api), error: String(error), retryMs })
        await clock.sleep(retryMs, over.signal).catch(() => undefined)
      }
    }
  }
  for (const api of apis) await ensureAtLast(api)
  const services = new Informer({ client, clock, random, logger, kind: APIService })
  services.addHandler({
    onDelete({ metadata: { name } }) {
      const api = apis.find((each) => apiServiceName(each) === name)
      if (api !== undefined) void ensureAtLast(api)
    },
  })
  services.start()
  return {
    [Symbol.dispose]() {
      over.abort()
      services.stop()
    },
  }
}
