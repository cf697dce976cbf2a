/** A kind of custom resources from one declaration: its definition for the server, its Kind for clients, its type for the compiler. */

import type {
  V1CustomResourceColumnDefinition,
  V1CustomResourceDefinition,
  V1CustomResourceDefinitionVersion,
  V1CustomResourceSubresourceScale,
} from '#api/apiextensions/v1/types.gen.ts'
import type { InputOf, Schema, ValueOf } from '#api/declaration/schema.ts'
import type { Kind } from '#api/kind.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { apiVersionOf, gvkOf } from '#api/meta/gvk.ts'
import type { V1ObjectMeta } from '#api/meta/v1/types.gen.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { fillDefaults } from '#api/structural/defaults.ts'
import { type Shape, shapeOf } from '#api/structural/shape.ts'
import { defined } from '#base/defined.ts'

// biome-ignore lint/suspicious/noExplicitAny: whatever its type
type AnySchema = Schema<any, any>

export type CustomObject<Spec = unknown, Status = unknown> = {
  apiVersion?: string
  kind?: string
  metadata: V1ObjectMeta
  spec: Spec
  status?: Status
}

type VersionDeclaration<Spec extends AnySchema, Status extends AnySchema> = {
  spec: Spec
  /** With it the kind has the status subresource. */
  status?: Status
  /** What `kubectl get` shows. */
  columns?: readonly V1CustomResourceColumnDefinition[]
  /** Paths that field selectors take: `.spec.color`. */
  selectableFields?: readonly string[]
  /** Lets `kubectl scale` and autoscalers at it. */
  scale?: V1CustomResourceSubresourceScale
}

type Converted = { spec: unknown; status?: unknown }

/** A version that is served beside the stored one. Both functions get an object they may change, and return its spec and status. */
export type OlderVersion<Spec extends AnySchema = AnySchema, Status extends AnySchema = AnySchema> = VersionDeclaration<Spec, Status> & {
  toStored(object: CustomObject<ValueOf<Spec>, ValueOf<Status>>): Converted
  // biome-ignore lint/suspicious/noExplicitAny: of the stored version, whose type is not known yet
  fromStored(object: any): Converted
  deprecationWarning?: string
}

/** Only adds types. */
export function defineOlderVersion<Spec extends AnySchema, Status extends AnySchema>(
  version: OlderVersion<Spec, Status>,
): OlderVersion<Spec, Status> {
  return version
}

export type CustomResourceDeclaration<
  Spec extends AnySchema,
  Status extends AnySchema,
  Older extends Readonly<Record<string, OlderVersion>>,
> = VersionDeclaration<Spec, Status> & {
  group: string
  /** Objects are stored in it. */
  version: string
  kind: string
  /** The kind in lower case with an s, unless said. */
  plural?: string
  /** Namespaced unless said. */
  scope?: 'Namespaced' | 'Cluster'
  shortNames?: readonly string[]
  categories?: readonly string[]
  /** Of the definition: groups that end in k8s.io need `api-approved.kubernetes.io`. */
  annotations?: Readonly<Record<string, string>>
  /** By name. They need a webhook that converts: `serveWebhooks` has one. */
  olderVersions?: Older
}

/** A Kind that knows its definition. `CustomObjectOf<typeof Foo>` is the type of its objects. */
export type CustomResource<T extends KubernetesObject = KubernetesObject, Input = unknown, Older extends string = string> = Kind<T> & {
  readonly definition: V1CustomResourceDefinition
  readonly older: Readonly<Record<Older, Kind<CustomObject>>>
  /** An object to write: its kind is told, and defaults are filled in as the server would. */
  make(input: Input): T
  /** The object in another version of the kind. Absent where there is but one. */
  readonly convert: ((object: KubernetesObject, apiVersion: string) => KubernetesObject) | undefined
}

export type CustomObjectOf<K> = K extends Kind<infer T> ? T : never

export function defineCustomResource<
  Spec extends AnySchema,
  Status extends AnySchema = Schema<Record<string, never>>,
  const Older extends Readonly<Record<string, OlderVersion>> = Record<never, OlderVersion>,
>(
  declaration: CustomResourceDeclaration<Spec, Status, Older>,
): CustomResource<
  CustomObject<ValueOf<Spec>, ValueOf<Status>>,
  { metadata: V1ObjectMeta; spec: InputOf<Spec>; status?: InputOf<Status> },
  keyof Older & string
> {
  type T = CustomObject<ValueOf<Spec>, ValueOf<Status>>
  const { group, version, kind, scope = 'Namespaced', shortNames, categories, plural = pluralOf(kind) } = declaration
  const older: Readonly<Record<string, OlderVersion>> = declaration.olderVersions ?? {}
  const names = {
    ...{ kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
    ...defined({ shortNames: shortNames && [...shortNames], categories: categories && [...categories] }),
  }
  const address = { group, kind, plural, scope, schema: '' }
  const versions = [
    versionOf(version, declaration, true),
    ...Object.entries(older).map(([name, declared]) => versionOf(name, declared, false)),
  ]
  const annotations = declaration.annotations && { annotations: { ...declaration.annotations } }
  let shape: Shape | undefined
  return {
    ...address,
    version,
    definition: { metadata: { name: `${plural}.${group}`, ...annotations }, spec: { group, names, scope, versions } },
    older: Object.fromEntries(Object.keys(older).map((name) => [name, { ...address, version: name }])) as never,
    make(input) {
      const made = { apiVersion: apiVersionOf({ group, version }), kind, ...deepCopy(input) } as T
      shape ??= shapeOf(versions[0]?.schema?.openAPIV3Schema ?? {})
      fillDefaults(made, shape)
      return made
    },
    convert: versions.length === 1 ? undefined : converter(version, older),
  }
}

function versionOf(name: string, declared: Partial<OlderVersion>, storage: boolean): V1CustomResourceDefinitionVersion {
  const { spec, status, columns, selectableFields, scale, deprecationWarning } = declared
  const hasSubresources = status !== undefined || scale !== undefined
  return {
    name,
    served: true,
    storage,
    ...(deprecationWarning === undefined ? {} : { deprecated: true, deprecationWarning }),
    schema: {
      openAPIV3Schema: {
        type: 'object',
        required: ['spec'],
        properties: { spec: spec?.json ?? {}, ...defined({ status: status?.json }) },
      },
    },
    ...defined({ subresources: hasSubresources ? { ...defined({ status: status && {}, scale }) } : undefined }),
    ...defined({
      additionalPrinterColumns: columns && [...columns],
      selectableFields: selectableFields?.map((jsonPath) => ({ jsonPath })),
    }),
  }
}

/** By way of the stored version, so that each version knows but one other. */
function converter(stored: string, older: Readonly<Record<string, OlderVersion>>) {
  return (object: KubernetesObject, apiVersion: string): KubernetesObject => {
    const from = gvkOf(object).version
    const to = gvkOf({ apiVersion, kind: '' }).version
    if (from === to) return object
    const known = (name: string): OlderVersion => {
      const version = older[name]
      if (version === undefined) throw new Error(`there is no version ${name} to convert to or from`)
      return version
    }
    const { metadata, kind } = object
    const { group } = gvkOf(object)
    const convertedTo = (version: string, { spec, status }: Converted) => {
      const converted = { apiVersion: apiVersionOf({ group, version }), kind, metadata, spec }
      return (status === undefined ? converted : { ...converted, status }) as KubernetesObject
    }
    const hub = from === stored ? deepCopy(object) : convertedTo(stored, known(from).toStored(deepCopy(object) as CustomObject))
    return to === stored ? hub : convertedTo(to, known(to).fromStored(hub))
  }
}

function pluralOf(kind: string): string {
  const singular = kind.toLowerCase()
  if (/[^aeiou]y$/.test(singular)) return `${singular.slice(0, -1)}ies`
  return /(?:s|x|z|ch|sh)$/.test(singular) ? `${singular}es` : `${singular}s`
}
