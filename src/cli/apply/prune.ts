/** `kubectl apply --prune`: deletes what was applied before and is no longer among the manifests. */
import type { ApiObject, Call } from '#cli/call.ts'
import { ApiError, CliError } from '#cli/cli-error.ts'
import { listAll } from '#cli/resources/find-infos.ts'
import type { Info } from '#cli/resources/info.ts'
import { resourcePath, singularText } from '#cli/session/resource-types.ts'
import type { ResourceType } from '#cli/session/served-resources.ts'
import { type DryRun, dryRunSuffix, lastAppliedOf } from '#cli/write-options.ts'

const usual = [
  'v1/ConfigMap',
  'v1/Endpoints',
  'v1/Namespace',
  'v1/PersistentVolumeClaim',
  'v1/PersistentVolume',
  'v1/Pod',
  'v1/ReplicationController',
  'v1/Secret',
  'v1/Service',
  'batch/v1/Job',
  'batch/v1/CronJob',
  'networking.k8s.io/v1/Ingress',
  'apps/v1/DaemonSet',
  'apps/v1/Deployment',
  'apps/v1/ReplicaSet',
  'apps/v1/StatefulSet',
]

export async function prune(call: Call, applied: readonly Info[], dryRun: DryRun): Promise<void> {
  const uids = new Set(applied.map(({ object }) => object.metadata?.uid))
  const namespaces = new Set(applied.filter(({ namespace }) => namespace !== '').map(({ namespace }) => namespace))
  const types = await prunedTypes(call)
  for (const namespace of namespaces)
    for (const type of types.filter(({ isNamespaced }) => isNamespaced)) await pruneType(call, type, namespace, uids, dryRun)
  for (const type of types.filter(({ isNamespaced }) => !isNamespaced)) await pruneType(call, type, '', uids, dryRun)
}

async function prunedTypes({ flags, session }: Call): Promise<ResourceType[]> {
  const types = await session.types
  const allowed = flags.list('prune-allowlist')
  const found: ResourceType[] = []
  for (const text of allowed.length > 0 ? allowed : usual) {
    const parts = text.split('/')
    const kind = parts.pop() ?? ''
    if (allowed.length > 0 && parts.length !== 2)
      throw new CliError(`invalid GroupVersionKind format: ${text}, please follow <group/version/kind>`)
    const apiVersion = parts[0] === 'core' ? (parts[1] ?? '') : parts.join('/')
    const type = await types.ofKind(apiVersion, kind)
    if (type !== undefined) found.push(type)
    else if (allowed.length > 0)
      throw new CliError(
        `error retrieving RESTMappings to prune: invalid resource ${parts.join('/')}, Kind=${kind}, Namespaced=true: no matches for kind "${kind}" in version "${apiVersion}"`,
      )
  }
  return found
}

async function pruneType(
  call: Call,
  type: ResourceType,
  namespace: string,
  uids: ReadonlySet<string | undefined>,
  dryRun: DryRun,
): Promise<void> {
  const { flags, host, session } = call
  const rest = await session.rest
  let items: ApiObject[]
  try {
    items = (await listAll(call, type, { namespace, selector: flags.text('selector') })).items
  } catch (error) {
    if (error instanceof ApiError && (error.isNotFound || error.status.reason === 'MethodNotAllowed')) return
    throw error
  }
  for (const item of items) {
    if (lastAppliedOf(item) === undefined || uids.has(item.metadata?.uid)) continue
    const name = item.metadata?.name ?? ''
    if (dryRun !== 'client') {
      const body = {
        kind: 'DeleteOptions',
        apiVersion: 'v1',
        propagationPolicy: 'Background',
        ...(dryRun === 'server' ? { dryRun: ['All'] } : {}),
      }
      try {
        await rest.json({ method: 'DELETE', path: resourcePath(type, namespace, name), body })
      } catch (error) {
        if (!(error instanceof ApiError && error.isNotFound)) throw error
      }
    }
    host.write(`${singularText(type)}/${name} pruned${dryRunSuffix(dryRun)}\n`)
  }
}
