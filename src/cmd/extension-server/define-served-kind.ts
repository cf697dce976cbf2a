/** Kinds that an extension API server serves, declared in one value each. */

import type { V1CustomResourceDefinition } from '#api/apiextensions/v1/types.gen.ts'
import { customKinds } from '#api/custom-kinds/custom-kind.ts'
import type { ConvertObjects } from '#api/custom-kinds/untyped-kind.ts'
import type { Check } from '#api/meta/check.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { apiVersionOf } from '#api/meta/gvk.ts'
import type { KubernetesObject, ResourceDefinition } from '#api/resource.ts'
import { defined } from '#base/defined.ts'

/** What one version says of its objects. Functions get objects of this very version. */
export type ServedKindVersion<T extends KubernetesObject = KubernetesObject> = {
  /** A structural OpenAPI schema, as in a CustomResourceDefinition: decodes, prunes, defaults and validates. */
  schema: object
  /** Objects are stored in this version: exactly one has it. */
  isStored?: boolean
  hasStatus?: boolean
  /** Columns that `kubectl get` shows, as in a CustomResourceDefinition. */
  columns?: readonly { name: string; type: string; jsonPath: string; description?: string; priority?: number }[]
  /** Fills in, in place, what the schema cannot. */
  defaults?(object: T): void
  /** Reports what is wrong with a new object, after the schema had its say. */
  validate?(object: T, check: Check<T>): void
  /** The same for going from `prev`, which is frozen, to `next`. */
  validateUpdate?(next: T, prev: T, check: Check<T>): void
}

export type ServedKind = {
  readonly group: string
  readonly kind: string
  readonly plural: string
  readonly scope: 'Namespaced' | 'Cluster'
  readonly versions: readonly string[]
  readonly definitions: readonly ResourceDefinition[]
}

export type ServedKindDeclaration = {
  group: string
  kind: string
  plural: string
  scope: 'Namespaced' | 'Cluster'
  singular?: string
  shortNames?: readonly string[]
  categories?: readonly string[]
  // biome-ignore lint/suspicious/noExplicitAny: each version has objects of its own shape
  versions: Readonly<Record<string, ServedKindVersion<any>>>
  /** The object in another version: a private copy to change and return. Absent where versions differ in their name alone. */
  // biome-ignore lint/suspicious/noExplicitAny: from one shape to another
  convert?(object: any, toVersion: string): any
}

export function defineServedKind(declaration: ServedKindDeclaration): ServedKind {
  const { group, kind, plural, scope, versions } = declaration
  const stored = Object.entries(versions).filter(([, { isStored }]) => isStored)
  if (stored.length !== 1) throw new Error(`${plural}.${group}: exactly one version must be the stored one, not ${stored.length}`)
  const crd = definitionOf(declaration)
  const made = [...customKinds(crd, { read: () => crd, live: { isTerminating: false }, convert: converter(declaration) })]
  return {
    group,
    kind,
    plural,
    scope,
    versions: Object.keys(versions),
    definitions: made.map((definition) => withRules(definition, versions[definition.version] ?? { schema: {} })),
  }
}

function definitionOf({
  group,
  kind,
  plural,
  singular,
  shortNames,
  categories,
  scope,
  versions,
}: ServedKindDeclaration): V1CustomResourceDefinition {
  const names = {
    kind,
    plural,
    singular: singular ?? kind.toLowerCase(),
    listKind: `${kind}List`,
    ...defined({ shortNames: shortNames && [...shortNames], categories: categories && [...categories] }),
  }
  return {
    metadata: { name: `${plural}.${group}`, uid: 'served', generation: 1 },
    spec: {
      group,
      names,
      scope,
      versions: Object.entries(versions).map(([name, { schema, isStored = false, hasStatus, columns }]) => ({
        name,
        served: true,
        storage: isStored,
        schema: { openAPIV3Schema: schema },
        ...defined({ subresources: hasStatus ? { status: {} } : undefined }),
        ...defined({ additionalPrinterColumns: columns && [...columns] }),
      })),
    },
    status: { acceptedNames: names },
  } as unknown as V1CustomResourceDefinition
}

function converter({ convert }: ServedKindDeclaration): ConvertObjects | undefined {
  if (convert === undefined) return undefined
  return async (objects, to) =>
    objects.map((object) => {
      const { metadata, kind } = object
      return { ...(convert(deepCopy(object), to.version) as object), apiVersion: apiVersionOf(to), kind, metadata } as KubernetesObject
    })
}

function withRules(definition: ResourceDefinition, { defaults, validate, validateUpdate }: ServedKindVersion): ResourceDefinition {
  return {
    ...definition,
    defaults(object) {
      definition.defaults?.(object)
      defaults?.(object)
    },
    *validate(object, check, context) {
      const steps = definition.validate?.(object, check, context)
      if (steps) yield* steps
      validate?.(object, check as Check<KubernetesObject>)
    },
    *validateUpdate(next, prev, check, context) {
      const steps = definition.validateUpdate?.(next, prev, check, context)
      if (steps) yield* steps
      validateUpdate?.(next, prev, check as Check<KubernetesObject>)
    },
  }
}
