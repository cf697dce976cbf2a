/** An APIService for every group version this server serves itself: those of the server from its start on, those of definitions as they come and go. */

import { CustomResourceDefinition } from '#api/apiextensions/v1/kinds.gen.ts'
import { APIService } from '#api/apiregistration/v1/kinds.gen.ts'
import type { V1APIService } from '#api/apiregistration/v1/types.gen.ts'
import { builtInKinds } from '#api/kinds.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { groupPriority, versionPriority } from '#api/meta/group-priorities.ts'
import { equalJson } from '#api/meta/patch/json-value.ts'
import { formatTime } from '#api/meta/time.ts'
import { besideOthers, type Company, createIfMissing } from '#apiserver/bootstrap/ensure-objects.ts'
import { serverContext } from '#apiserver/registry/registries.ts'
import type { ApiServer } from '#apiserver/server.ts'
import { defined } from '#base/defined.ts'
import type { Logger } from '#base/log.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { oneEachTurn } from '#base/one-each-turn.ts'

const managedLabel = 'kube-aggregator.kubernetes.io/automanaged'
type Management = 'onstart' | 'true'

type Place = { readonly group: string; readonly version: string }
const nameOf = ({ group, version }: Place): string => `${version}.${group}`

/** Resolves once those of the server are there. */
export async function keepLocalApiServices(server: ApiServer, company: Company & { logger: Logger }): Promise<Disposable> {
  const { scheme, cluster } = server
  const builtIn = new Set(builtInKinds.map(nameOf))
  const own = new Map<string, Place>()
  for (const { group, version, stability } of scheme.definitions()) {
    const name = nameOf({ group, version })
    if (stability !== 'legacy' && builtIn.has(name)) own.set(name, { group, version })
  }
  await Promise.all([...own.values()].map((place) => besideOthers(company, () => ensure(server, place, 'onstart', company.clock.now()))))
  for (const object of cluster.list(APIService)) {
    const name = object.metadata.name ?? ''
    if (managementOf(object) === 'onstart' && !own.has(name)) await besideOthers(company, () => remove(server, name))
  }
  const settle = settler(server, own, company)
  const running = new DisposableStack()
  running.defer(
    scheme.onChange(({ added, removed }) => {
      for (const name of new Set([...added, ...removed].map(nameOf))) if (!own.has(name)) settle(name)
    }),
  )
  running.use(cluster.onChange(APIService, (object) => void (managementOf(object) === 'true' && settle(object.metadata.name ?? ''))))
  for (const { group, versions } of scheme.groups) for (const { version } of versions) settle(nameOf({ group, version }))
  return running
}

const retryMs = 1000

/** One write at a time for each name, and at most one that waits: makes the APIService what the scheme says when its turn comes. */
function settler(
  server: ApiServer,
  own: ReadonlyMap<string, Place>,
  { clock, logger }: Company & { logger: Logger },
): (name: string) => void {
  const pending = new Map<string, Promise<void>>()
  const waiting = new Set<string>()
  // One definition may have thousands of versions.
  const turn = oneEachTurn(clock)
  const settle = (name: string): void => {
    if (own.has(name) || waiting.has(name)) return
    waiting.add(name)
    const before = pending.get(name) ?? Promise.resolve()
    const work = before
      .then(turn)
      .then(() => {
        waiting.delete(name)
        return settled(server, name, clock.now())
      })
      .catch((error: unknown) => {
        logger.warn('failed to sync APIService of custom resources', { apiService: name, error: String(error) })
        clock.after(retryMs, () => settle(name))
      })
    pending.set(name, work)
    void work.then(() => pending.get(name) === work && pending.delete(name))
  }
  return settle
}

async function settled(server: ApiServer, name: string, nowMs: number): Promise<void> {
  const dot = name.indexOf('.')
  const [version, group] = [name.slice(0, dot), name.slice(dot + 1)]
  const isServed = server.scheme.inVersion(group, version).some(({ stability }) => stability !== 'legacy')
  if (isServed) return ensure(server, { group, version }, 'true', nowMs)
  const current = server.cluster.get(APIService, name)
  if (current === undefined || managementOf(current) !== 'true' || isAboutToBeServed(server, { group, version })) return
  await remove(server, name)
}

/** Definitions are taken up one after the other when the server starts. */
function isAboutToBeServed({ registries }: ApiServer, { group, version }: Place): boolean {
  // By their names: of hundreds, only those of the group are read.
  const ofGroup = registries
    .of(CustomResourceDefinition)
    .cache.list('')
    .filter(({ name }) => name.endsWith(`.${group}`))
  return ofGroup.some((cached) => {
    const { spec } = cached.peek()
    return spec.versions.some((each) => each.name === version && each.served)
  })
}

/** What somebody else has made in its place stays. */
async function ensure(server: ApiServer, place: Place, management: Management, nowMs: number): Promise<void> {
  const name = nameOf(place)
  const wanted = apiService(place, management)
  const current = await server.cluster.getFresh(APIService, name)
  if (current === undefined) {
    const status = { conditions: [available(nowMs)] }
    return createIfMissing(server, { group: 'apiregistration.k8s.io', resource: 'apiservices', object: wanted, status })
  }
  if (managementOf(current) === undefined || equalJson(current.spec ?? {}, wanted.spec ?? {})) return
  const registry = server.registries.of(APIService)
  await registry.change(name, serverContext(registry.definition, ''), {
    retriesConflicts: true,
    transform: (prev) => ({ ...deepCopy(prev), ...defined({ spec: wanted.spec }) }),
  })
}

async function remove(server: ApiServer, name: string): Promise<void> {
  const registry = server.registries.of(APIService)
  if ((await registry.find('', name)) !== undefined) await registry.delete(name, {}, serverContext(registry.definition, ''))
}

function managementOf({ metadata }: V1APIService): Management | undefined {
  const label = metadata.labels?.[managedLabel]
  return label === 'true' || label === 'onstart' ? label : undefined
}

function apiService(place: Place, management: Management): V1APIService {
  const { group, version } = place
  const spec = {
    ...omitEmpty({ group }),
    version,
    groupPriorityMinimum: groupPriority(group),
    versionPriority: versionPriority(group, version),
  }
  return {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name: nameOf(place), labels: { [managedLabel]: management } },
    spec,
  }
}

function available(nowMs: number) {
  const message = 'Local APIServices are always available'
  return { type: 'Available', status: 'True', lastTransitionTime: formatTime(nowMs), reason: 'Local', message }
}
