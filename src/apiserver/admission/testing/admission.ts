/** A cluster made of a few objects, and requests to try plugins with. */
import { builtInKinds } from '#api/kinds.ts'
import { deepFreeze } from '#api/meta/deep-copy.ts'
import { FeatureGates } from '#api/meta/feature-gates.ts'
import { conflict, StatusError } from '#api/meta/status-error.ts'
import type { KubernetesObject, ResourceDefinition } from '#api/resource.ts'
import {
  AdmissionChain,
  type AdmissionContext,
  type AdmissionOperation,
  type AdmissionPlugin,
  type AdmissionPluginFactory,
  type AdmissionRequest,
} from '#apiserver/admission/admission.ts'
import type { Attributes, Authorizer } from '#apiserver/authz/authorizer.ts'
import { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import type { DynamicView } from '#apiserver/cluster-view/dynamic-view.ts'
import type { ServedVersion } from '#apiserver/registry/field-ownership.ts'
import { silentLogger } from '#base/log.ts'
import { seededRandom } from '#base/random.ts'
import { VirtualClock } from '#base/virtual-clock.ts'

function definitionOf(resource: string): ResourceDefinition {
  const [plural = '', ...group] = resource.split('.')
  const found = builtInKinds.find((each) => each.plural === plural && each.group === group.join('.') && each.storedAs === undefined)
  if (found === undefined) throw new Error(`there is no resource ${resource}`)
  return found as ResourceDefinition
}

type Changed = (object: KubernetesObject, isDeleted: boolean) => void

/** Objects by resource, written as in permissions: `pods`, `storageclasses.storage.k8s.io`. */
export class FakeCluster extends ClusterView {
  readonly #objects: FakeObjects

  constructor(objects: Record<string, readonly object[]> = {}) {
    const fake = new FakeObjects(objects)
    super(fake)
    this.#objects = fake
  }

  put(resource: string, object: KubernetesObject): KubernetesObject {
    return this.#objects.put(resource, object)
  }
}

class FakeObjects implements DynamicView {
  readonly #objects = new Map<string, Map<string, KubernetesObject>>()
  readonly #watchers = new Map<string, Set<Changed>>()
  #revision = 100

  constructor(objects: Record<string, readonly object[]>) {
    for (const [resource, list] of Object.entries(objects)) for (const object of list) this.put(resource, object)
  }

  put(resource: string, object: KubernetesObject): KubernetesObject {
    const metadata = { ...object.metadata, resourceVersion: String(++this.#revision) }
    const stored = deepFreeze({ ...object, metadata })
    const all = this.#objects.get(resource) ?? new Map<string, KubernetesObject>()
    this.#objects.set(resource, all.set(`${metadata.namespace ?? ''}/${metadata.name}`, stored))
    for (const callback of this.#watchers.get(resource) ?? []) callback(stored, false)
    return stored
  }

  get(group: string, resource: string, namespace: string, name: string): KubernetesObject | undefined {
    return this.#objects.get(textOf(group, resource))?.get(`${namespace}/${name}`)
  }
  list(group: string, resource: string, namespace = ''): KubernetesObject[] {
    const all = [...(this.#objects.get(textOf(group, resource))?.values() ?? [])]
    return all.filter(({ metadata }) => namespace === '' || metadata?.namespace === namespace)
  }
  async getFresh(group: string, resource: string, namespace: string, name: string): Promise<KubernetesObject | undefined> {
    return this.get(group, resource, namespace, name)
  }
  replace(group: string, resource: string, object: KubernetesObject): Promise<KubernetesObject> {
    return this.replaceStatus(group, resource, object)
  }
  async replaceStatus(group: string, resource: string, object: KubernetesObject): Promise<KubernetesObject> {
    const { namespace = '', name = '', resourceVersion } = object.metadata ?? {}
    const current = this.get(group, resource, namespace, name)
    if (current?.metadata?.resourceVersion !== resourceVersion) throw conflict({ group, resource }, name)
    return this.put(textOf(group, resource), object)
  }
  async create(group: string, resource: string, object: KubernetesObject): Promise<KubernetesObject> {
    return this.put(textOf(group, resource), object)
  }
  versionsOf(stored: ResourceDefinition): ServedVersion[] {
    const all = builtInKinds as readonly ResourceDefinition[]
    return all
      .filter((each) => (each.storedAs?.definition ?? each) === stored)
      .map((definition) => ({
        definition,
        fromStored: (object) => definition.storedAs?.fromStored(object) ?? object,
        toStored: (object) => definition.storedAs?.toStored(object) ?? object,
      }))
  }
  resourcesOfKind(group: string, version: string, kind: string) {
    return builtInKinds
      .filter((each) => each.group === group && each.version === version && each.kind === kind)
      .map(({ plural, scope }) => ({ resource: plural, isNamespaced: scope === 'Namespaced' }))
  }
  onChange(group: string, resource: string, callback: Changed): Disposable {
    for (const object of this.list(group, resource)) callback(object, false)
    const watchers = this.#watchers.get(textOf(group, resource)) ?? new Set()
    this.#watchers.set(textOf(group, resource), watchers.add(callback))
    return { [Symbol.dispose]: () => watchers.delete(callback) }
  }
}

const textOf = (group: string, resource: string): string => (group === '' ? resource : `${resource}.${group}`)

/** Allows what the function says. */
export const authorizerOf = (allows: (attributes: Attributes) => boolean): Authorizer => ({
  authorize: (attributes) => ({ decision: allows(attributes) ? 'allow' : 'noOpinion', reason: '' }),
})

export type TestContext = AdmissionContext & { cluster: FakeCluster; clock: VirtualClock }

export function testContext(
  objects: Record<string, readonly object[]> = {},
  options: { configuration?: unknown; authorizer?: Authorizer; featureGates?: string } = {},
): TestContext {
  const gates = new FeatureGates(options.featureGates ?? '')
  return {
    cluster: new FakeCluster(objects),
    clock: new VirtualClock(),
    random: seededRandom(1),
    logger: silentLogger,
    authorizer: options.authorizer ?? authorizerOf(() => false),
    isEnabled: gates.isEnabled,
    configuration: options.configuration,
  }
}

export type TestRequest = AdmissionRequest & { warnings: string[]; audit: Record<string, string> }

export type RequestOptions = {
  operation?: AdmissionOperation
  subresource?: string
  object?: object
  oldObject?: object
  namespace?: string
  name?: string
  kind?: string
  user?: string
  groups?: string[]
  isDryRun?: boolean
}

/** A request for the resource; a create in the namespace `ns` unless said otherwise. */
export function requestFor(resource: string, options: RequestOptions): TestRequest {
  const definition = definitionOf(resource)
  const object = options.object as KubernetesObject | undefined
  const oldObject = options.oldObject as KubernetesObject | undefined
  if (object !== undefined) object.metadata ??= {}
  const warnings: string[] = []
  const audit: Record<string, string> = {}
  const { group, version, plural, kind, scope } = definition
  return {
    operation: options.operation ?? (oldObject === undefined ? 'CREATE' : 'UPDATE'),
    definition,
    resource: { group, version, resource: plural },
    kind: { group, version, kind: options.kind ?? kind },
    subresource: options.subresource ?? '',
    namespace: options.namespace ?? (scope === 'Namespaced' ? 'ns' : ''),
    name: options.name ?? object?.metadata?.name ?? oldObject?.metadata?.name ?? '',
    object,
    oldObject,
    options: {},
    isDryRun: options.isDryRun ?? false,
    user: { name: options.user ?? 'jane', groups: options.groups ?? ['system:authenticated'], extra: {} },
    warn: (text) => warnings.push(text),
    annotateAudit: (key, value) => {
      audit[key] = value
    },
    onFinish() {},
    warnings,
    audit,
  }
}

/** Sends the request past the plugin; resolves with the object as it is then. */
export async function admit<T = KubernetesObject>(plugin: AdmissionPlugin, request: AdmissionRequest): Promise<T> {
  const chain = new AdmissionChain([plugin])
  await chain.mutate(request)
  await chain.validate(request)
  return request.object as T
}

/** The message and code of the refusal, or `allowed`. */
export async function admissionResult(plugin: AdmissionPlugin, request: AdmissionRequest): Promise<string> {
  try {
    await admit(plugin, request)
    return 'allowed'
  } catch (error) {
    if (!(error instanceof StatusError)) throw error
    return `${error.code} ${error.message}`
  }
}

/** Tables of one request each against the same plugin. */
export async function admissionResultOf(
  make: AdmissionPluginFactory,
  context: AdmissionContext,
  resource: string,
  options: RequestOptions,
): Promise<string> {
  return admissionResult(make(context), requestFor(resource, options))
}

export const aPod = (spec: object = {}, metadata: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'ns', ...metadata },
  spec: { containers: [{ name: 'c', image: 'nginx:1' }], ...spec },
})
