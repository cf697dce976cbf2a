/** The paths of a resource, and the operations on them. */
import { allVerbs } from '#api/kind.ts'
import type { ResourceDefinition } from '#api/resource.ts'
import { findSchema, schemaNameOf } from '#api/schema/schema.ts'
import { subresourcesOf } from '#apiserver/discovery/discovery.ts'
import { customTypeNames } from './custom-definition.ts'
import { capitalized, idPrefix, oneOf, rootOf, tagOf } from './naming.ts'
import type { Method, Operation, Parameter, PathItem } from './operation.ts'
import { actionParameters, byName, connectParameters, nameParameter, namespaceParameter, restOfPathParameter } from './parameters.ts'

const media = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf']
const mediaOfLists = [...media, 'application/json;stream=watch', 'application/vnd.kubernetes.protobuf;stream=watch']
const patches = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
]
const anything = ['*/*']

const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1'
const deleteOptions = { type: `${meta}.DeleteOptions`, isRequired: false }
const patchBody = { type: `${meta}.Patch`, isRequired: true }

/** Where operations are, below the root of the version, and what the path takes. */
type Place = { readonly path: string; readonly parameters: readonly Parameter[] }

/** What the caller knows of an operation; the resource adds the rest. */
type Sketch = Pick<Operation, 'method' | 'id' | 'text' | 'action' | 'parameters' | 'responses'> & Partial<Operation>

export function resourcePaths(definition: ResourceDefinition): Generator<PathItem> {
  const custom = definition.untyped && customTypeNames(definition)
  return new ResourcePaths(custom ? { ...definition, schema: custom.object } : definition, custom?.list).all()
}

class ResourcePaths {
  readonly #definition: ResourceDefinition
  readonly #collection: Place
  readonly #everywhere: Place
  readonly #object: Place
  /** `AppsV1` and `NamespacedDeployment`, what ids are made of. */
  readonly #prefix: string
  readonly #scoped: string

  readonly #listType: string
  readonly #media: readonly string[]

  constructor(definition: ResourceDefinition, customList: string | undefined) {
    this.#definition = definition
    const { schema } = definition
    this.#listType = customList ?? (findSchema(`${schema}List`) === undefined ? schema : `${schema}List`)
    this.#media = customList === undefined ? media : media.filter((type) => !type.includes('protobuf'))
    const { group, version, kind, plural } = definition
    this.#everywhere = { path: `/${plural}`, parameters: [] }
    this.#collection = this.#isNamespaced
      ? { path: `/namespaces/{namespace}/${plural}`, parameters: [namespaceParameter] }
      : this.#everywhere
    this.#object = { path: `${this.#collection.path}/{name}`, parameters: [...this.#collection.parameters, nameParameter(kind)] }
    this.#prefix = idPrefix(group, version)
    this.#scoped = this.#isNamespaced ? `Namespaced${kind}` : kind
  }

  get #isNamespaced(): boolean {
    return this.#definition.scope === 'Namespaced'
  }

  #can(verb: string, verbs: readonly string[] = this.#definition.verbs ?? allVerbs): boolean {
    return verbs.includes(verb)
  }

  *all(): Generator<PathItem> {
    yield* this.#at(this.#collection, this.#onCollection())
    yield* this.#at(this.#object, this.#onObject())
    yield* this.#subresources()
    if (this.#isNamespaced && this.#can('list')) yield* this.#at(this.#everywhere, [this.#list(`${this.#definition.kind}ForAllNamespaces`)])
    if (this.#can('watch') && this.#definition.untyped === undefined) yield* this.#watches()
  }

  *#at({ path, parameters }: Place, sketches: readonly Sketch[]): Generator<PathItem> {
    if (sketches.length === 0) return
    const { group, version, kind } = this.#definition
    const operations = sketches.map((sketch) => ({
      tag: tagOf(group, version),
      kind: { group, version, kind },
      consumes: anything,
      produces: this.#media,
      ...sketch,
      parameters: byName([...parameters, ...sketch.parameters]),
      responses: [...sketch.responses, { code: 401 }],
    }))
    yield { path: rootOf(group, version) + path, operations }
  }

  #onCollection(): Sketch[] {
    const { kind, schema } = this.#definition
    const sketches: Sketch[] = []
    if (this.#can('deletecollection')) {
      sketches.push({
        method: 'delete',
        id: `delete${this.#prefix}Collection${this.#scoped}`,
        text: `delete collection of ${kind}`,
        action: 'deletecollection',
        parameters: actionParameters.deletecollection,
        body: deleteOptions,
        responses: [{ code: 200, type: `${meta}.Status` }],
      })
    }
    if (this.#can('list')) sketches.push(this.#list(this.#scoped))
    if (this.#can('create')) sketches.push(this.#create(`create ${oneOf(kind)}`, '', schema))
    return sketches
  }

  #onObject(): Sketch[] {
    const { kind, schema, returnsDeletedObject } = this.#definition
    const sketches: Sketch[] = []
    if (this.#can('delete')) {
      sketches.push({
        method: 'delete',
        id: `delete${this.#prefix}${this.#scoped}`,
        text: `delete ${oneOf(kind)}`,
        action: 'delete',
        parameters: actionParameters.delete,
        body: deleteOptions,
        responses: [200, 202].map((code) => ({ code, type: returnsDeletedObject ? schema : `${meta}.Status` })),
      })
    }
    return [...sketches, ...this.#readAndChange('', schema)]
  }

  *#subresources(): Generator<PathItem> {
    const { group, version, kind, plural, schema } = this.#definition
    for (const { name, verbs, ...own } of subresourcesOf(this.#definition)) {
      const place = { path: `${this.#object.path}/${name}`, parameters: this.#object.parameters }
      const about = { group: own.group ?? group, version: own.version ?? version, kind: own.kind }
      const connection = group === '' ? connectParameters[`${plural}/${name}`] : undefined
      if (name === 'log' && connection) yield* this.#at(place, [this.#log(connection)])
      else if (connection) yield* this.#connections(place, name, connection, about)
      else {
        const type = own.kind === kind ? schema : (schemaNameOf(about) ?? schema)
        const sketches = this.#can('create', verbs)
          ? [this.#create(`create ${name} of ${oneOf(kind)}`, name, type)]
          : this.#readAndChange(name, type, verbs)
        yield* this.#at(
          place,
          sketches.map((sketch) => ({ ...sketch, kind: about })),
        )
      }
    }
  }

  *#watches(): Generator<PathItem> {
    const { kind } = this.#definition
    yield* this.#watch(this.#collection, `${this.#scoped}List`, `every ${kind}`, 'watchlist')
    yield* this.#watch(this.#object, this.#scoped, `one ${kind}`, 'watch')
    if (this.#isNamespaced) yield* this.#watch(this.#everywhere, `${kind}ListForAllNamespaces`, `every ${kind}`, 'watchlist')
  }

  #watch({ path, parameters }: Place, id: string, what: string, action: string): Generator<PathItem> {
    return this.#at({ path: `/watch${path}`, parameters }, [
      {
        method: 'get',
        id: `watch${this.#prefix}${id}`,
        text: `watch ${what}; kept for old clients: use the watch parameter of a list`,
        action,
        parameters: actionParameters.list,
        produces: mediaOfLists,
        responses: [{ code: 200, type: `${meta}.WatchEvent` }],
      },
    ])
  }

  #list(id: string): Sketch {
    const { kind } = this.#definition
    return {
      method: 'get',
      id: `list${this.#prefix}${id}`,
      text: `list ${this.#can('watch') ? 'or watch ' : ''}objects of kind ${kind}`,
      action: 'list',
      parameters: actionParameters.list,
      produces: this.#media === media ? mediaOfLists : this.#media,
      responses: [{ code: 200, type: this.#listType }],
    }
  }

  #create(text: string, subresource: string, type: string): Sketch {
    return {
      method: 'post',
      id: `create${this.#prefix}${this.#scoped}${capitalized(subresource)}`,
      text,
      action: 'post',
      parameters: actionParameters.create,
      body: { type, isRequired: true },
      responses: [200, 201, 202].map((code) => ({ code, type })),
    }
  }

  #readAndChange(subresource: string, type: string, verbs?: readonly string[]): Sketch[] {
    const { kind } = this.#definition
    const id = `${this.#prefix}${this.#scoped}${capitalized(subresource)}`
    const target = subresource === '' ? `the specified ${kind}` : `${subresource} of the specified ${kind}`
    const read: Sketch = {
      method: 'get',
      id: `read${id}`,
      text: `read ${target}`,
      action: 'get',
      parameters: actionParameters.get,
      responses: [{ code: 200, type }],
    }
    const responses = [200, 201].map((code) => ({ code, type }))
    const patch: Sketch = {
      method: 'patch',
      id: `patch${id}`,
      text: `partially update ${target}`,
      action: 'patch',
      parameters: actionParameters.patch,
      body: patchBody,
      consumes: this.#media === media ? patches : patches.filter((type) => !type.includes('strategic')),
      responses,
    }
    const replace: Sketch = {
      method: 'put',
      id: `replace${id}`,
      text: `replace ${target}`,
      action: 'put',
      parameters: actionParameters.update,
      body: { type, isRequired: true },
      responses,
    }
    return [
      ...(this.#can('get', verbs) ? [read] : []),
      ...(this.#can('patch', verbs) ? [patch] : []),
      ...(this.#can('update', verbs) ? [replace] : []),
    ]
  }

  #log(parameters: readonly Parameter[]): Sketch {
    return {
      method: 'get',
      id: `read${this.#prefix}${this.#scoped}Log`,
      text: `read log of the specified ${this.#definition.kind}`,
      action: 'get',
      parameters,
      produces: ['text/plain', ...media],
      responses: [{ code: 200, type: 'text' }],
    }
  }

  /** Whatever is sent goes on to the pod, service or node. */
  *#connections(place: Place, name: string, parameters: readonly Parameter[], kind: Operation['kind'] & {}): Generator<PathItem> {
    const methods: readonly Method[] = name === 'proxy' ? ['delete', 'get', 'head', 'options', 'patch', 'post', 'put'] : ['get', 'post']
    const sketches = (suffix: string) =>
      methods.map((method) => ({
        method,
        id: `connect${this.#prefix}${capitalized(method)}${this.#scoped}${capitalized(name)}${suffix}`,
        text: `connect ${method.toUpperCase()} requests to ${name} of ${this.#definition.kind}`,
        action: 'connect',
        kind,
        parameters,
        produces: anything,
        responses: [{ code: 200, type: 'text' }],
      }))
    yield* this.#at(place, sketches(''))
    if (name !== 'proxy') return
    yield* this.#at({ path: `${place.path}/{path}`, parameters: [...place.parameters, restOfPathParameter] }, sketches('WithPath'))
  }
}
