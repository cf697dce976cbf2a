/** Keeps the cluster's add-ons as the manifests of a directory say, by the labels that kube-addon-manager knows. */
import { gvkOf } from '#api/meta/gvk.ts'
import { ignoreAlreadyExists, ignoreNotFound } from '#api/meta/server-response.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { Clock, Timer } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import type { Logger } from '#base/log.ts'
import type { Client } from '#client/client.ts'
import { type DiscoveredResource, preferredResources } from '#client/discovery.ts'
import { ServedKinds } from '#client/served-kinds.ts'
import { type Addon, addonMode, clusterServiceLabel, modeLabel, readAddons } from '#controllers/addon-manager/read-addons.ts'

export type AddonManagerOptions = { client: Client; directory: string; files: Files; clock: Clock; logger: Logger }

export type AddonManager = AsyncDisposable & {
  /** Once more, after the round that is under way. */
  sync(): Promise<void>
  /** Resolves when no round is under way. */
  settled(): Promise<void>
}

const checkMs = 60_000
const fieldManager = 'addon-manager'
/** Of objects that name none. */
const systemNamespace = 'kube-system'

/** Looks after the directory from now on: at each change of it, and every minute at what became of the objects. */
export function startAddonManager(options: AddonManagerOptions): AddonManager {
  const { client, directory, files, clock, logger } = options
  const kinds = new ServedKinds(client)
  const state: State = { kinds, prunedFor: undefined }
  let running: Promise<void> = Promise.resolve()
  let isOver = false
  let timer: Timer | undefined
  const round = async () => {
    timer?.cancel()
    if (isOver) return
    try {
      await bringAbout(options, state)
    } catch (error) {
      logger.warn('failed to sync add-ons, retrying', { directory, error: error instanceof Error ? error.message : String(error) })
    }
    if (!isOver) timer = clock.after(checkMs, () => void sync())
  }
  const sync = (): Promise<void> => {
    running = running.then(round)
    return running
  }
  const watching = watched(files, directory, () => void sync())
  void sync()
  return {
    sync,
    settled: () => running,
    async [Symbol.asyncDispose]() {
      isOver = true
      timer?.cancel()
      watching?.[Symbol.dispose]()
      await running
    },
  }
}

/** A directory that is not there yet is looked for every minute. */
function watched(files: Files, directory: string, onChange: () => void): Disposable | undefined {
  try {
    return files.watch(directory, onChange)
  } catch {
    return undefined
  }
}

/** `prunedFor` is what the directory held when all else was deleted: nothing can be left over until it holds less. */
type State = { readonly kinds: ServedKinds; prunedFor: string | undefined }

async function bringAbout({ client, directory, files, logger }: AddonManagerOptions, state: State): Promise<void> {
  const { kinds } = state
  const { addons, problems } = await readAddons(directory, files)
  for (const problem of problems) logger.error('failed to read add-ons', { directory, problem })
  await kinds.refresh()
  const wanted = new Set<string>()
  let isComplete = problems.length === 0
  for (const addon of inOrder(addons)) {
    const { object, path } = addon
    let kind = kindOf(object, kinds)
    if (kind === undefined) {
      // Its definition may be one of those applied just now.
      await kinds.refresh()
      kind = kindOf(object, kinds)
    }
    try {
      if (kind === undefined) throw new Error(`no matches for kind "${object.kind}" in version "${object.apiVersion}"`)
      wanted.add(identity(kind, placed(kind, object)))
      await keep(client, kind, { ...addon, object: placed(kind, object) })
    } catch (error) {
      if (kind === undefined) isComplete = false
      const name = object.metadata?.name
      logger.error('failed to apply add-on', {
        path,
        kind: object.kind,
        name,
        error: error instanceof Error ? error.message : String(error),
      })
    }
  }
  // While it is not known what the directory holds, nothing is known to be missing from it.
  const held = [...wanted].sort().join('\n')
  if (!isComplete || held === state.prunedFor) return
  await prune(client, kinds, wanted, logger)
  state.prunedFor = held
}

async function keep(client: Client, kind: DiscoveredResource, { mode, object }: Addon): Promise<void> {
  if (mode === 'Reconcile') {
    await client.apply(kind, object as never, { fieldManager, force: true })
    return
  }
  await client.create(kind, object, { fieldManager }).catch(ignoreAlreadyExists)
}

/** Deletes what was applied from the directory and is not in it any more. What is there for others to change stays. */
async function prune(client: Client, kinds: ServedKinds, wanted: ReadonlySet<string>, logger: Logger): Promise<void> {
  const prunable = preferredResources(kinds.scheme.definitions(), ['list', 'delete', 'patch'])
  for (const kind of prunable) {
    for (const labelSelector of [`${modeLabel}=Reconcile`, `${clusterServiceLabel}=true,${modeLabel}!=EnsureExists`]) {
      const { items } = await client.list(kind, { labelSelector })
      for (const object of items) {
        const isLeftOver = isApplied(object) && addonMode(object.metadata?.labels) === 'Reconcile' && !wanted.has(identity(kind, object))
        if (!isLeftOver || object.metadata?.deletionTimestamp !== undefined) continue
        const { namespace, name, uid } = object.metadata ?? {}
        logger.info('deleting add-on that is no longer in the directory', { kind: kind.kind, namespace, name })
        await client.delete(kind, { namespace, name }, uid === undefined ? {} : { uid }).catch(ignoreNotFound)
      }
    }
  }
}

/** Others may use the same labels: only what this manager has applied is its own. */
function isApplied({ metadata }: KubernetesObject): boolean {
  return metadata?.managedFields?.some(({ manager, operation }) => manager === fieldManager && operation === 'Apply') ?? false
}

/** Versions of a kind are the same objects. */
const identity = ({ group, kind }: { group: string; kind: string }, { metadata }: KubernetesObject): string =>
  `${group}/${kind}/${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`

function placed(kind: DiscoveredResource, object: KubernetesObject): KubernetesObject {
  if (kind.scope === 'Cluster') return object
  return { ...object, metadata: { ...object.metadata, namespace: object.metadata?.namespace ?? systemNamespace } }
}

function kindOf(object: KubernetesObject, kinds: ServedKinds): DiscoveredResource | undefined {
  const { group, version, kind } = gvkOf(object)
  return [...kinds.scheme.definitions()].find((each) => each.group === group && each.version === version && each.kind === kind)
}

const early = ['Namespace', 'CustomResourceDefinition', 'ServiceAccount', 'ClusterRole', 'ClusterRoleBinding']

/** What others need to be there comes first. */
function inOrder(addons: readonly Addon[]): Addon[] {
  const rank = ({ object }: Addon) => (early.includes(object.kind ?? '') ? early.indexOf(object.kind ?? '') : early.length)
  return [...addons].sort((left, right) => rank(left) - rank(right))
}
