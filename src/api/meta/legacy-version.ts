import { canonicalize } from '#api/codec/json.ts'
import type { Deprecation, KubernetesObject, ResourceDefinition } from '#api/resource.ts'
import { atOnce, type Steps } from '#base/steps.ts'
import { deepCopy } from './deep-copy.ts'
import { apiVersionOf } from './gvk.ts'
import { keepLosses, takeLosses } from './kept-losses.ts'

/** What an old version has of its own; everything else is as in the stored one. */
export type LegacyVersion<Old extends KubernetesObject, Stored extends KubernetesObject> = Partial<
  Pick<ResourceDefinition<Old>, 'scaleKind' | 'actions'>
> &
  Partial<
    Pick<
      ResourceDefinition<Old>,
      'group' | 'kind' | 'plural' | 'schema' | 'shortNames' | 'categories' | 'defaultPropagation' | 'fieldSelectors'
    >
  > & {
    version: string
    deprecated: Deprecation
    /** Only what differs from the stored version, whose own defaults come after the conversion. */
    defaults?(object: Old): void
    /** Both get a private object and may change and return it. Absent where the shape is the same. */
    toStored?(object: Old): Stored
    fromStored?(object: Stored): Old
  }

/** Serves an old version of a stored kind. What the stored version cannot say comes back all the same. */
export function legacyVersion<Old extends KubernetesObject, Stored extends KubernetesObject = Old>(
  stored: ResourceDefinition<Stored>,
  { toStored, fromStored, deprecated, ...own }: LegacyVersion<Old, Stored>,
): ResourceDefinition<Old> {
  const { group, kind, plural, scope, verbs, shortNames, categories, singular, columns, rowConditions, fieldSelectors } = stored
  const { defaultPropagation, returnsDeletedObject, deletionForbidden, unspecifiedPropagationWarning } = stored
  const inherited = { group, kind, plural, scope, verbs, shortNames, categories, singular, columns, rowConditions, fieldSelectors }
  const deletion = { defaultPropagation, returnsDeletedObject, deletionForbidden, unspecifiedPropagationWarning }
  const definition = {
    ...present({ ...inherited, ...deletion }),
    schema: stored.schema.replace(`.${stored.version}.`, `.${own.version}.`),
    stability: 'legacy',
    ...own,
    deprecated: { replacement: `${apiVersionOf(stored)} ${stored.kind}`, ...deprecated },
    // Columns and selectors read the stored object, whatever version is shown.
  } as unknown as ResourceDefinition<Old>

  const apiVersion = apiVersionOf(definition)
  const stamped = <T extends KubernetesObject>(
    object: T,
    { kind: name, ...of }: Pick<ResourceDefinition, 'group' | 'version' | 'kind'>,
  ) => {
    object.apiVersion = apiVersionOf(of)
    object.kind = name
    return object
  }
  const shown = (object: Stored): Old =>
    canonicalize(stamped(fromStored?.(object) ?? (object as KubernetesObject as Old), definition), definition.schema)

  function* storing(object: Old): Steps<Stored> {
    const copy = deepCopy(withoutOwners(object))
    yield
    const said = canonicalize(copy, definition.schema)
    yield
    const converted = stamped(toStored?.(object) ?? (object as KubernetesObject as Stored), stored)
    const convertedCopy = deepCopy(withoutOwners(converted))
    yield
    const canonical = canonicalize(convertedCopy, stored.schema)
    yield
    const back = shown(canonical)
    yield
    keepLosses(converted, apiVersion, stamped(said, definition), back)
    return converted
  }

  definition.storedAs = {
    definition: stored,
    storing,
    toStored: (object: Old): Stored => atOnce(storing(object)),
    fromStored(object: Stored): Old {
      const restore = takeLosses(object, apiVersion)
      const converted = shown(object)
      restore(converted)
      return converted
    },
  }
  return definition
}

function present(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

/** They are the same in all versions, and larger than the rest of an object with long lists. */
function withoutOwners<T extends KubernetesObject>(object: T): T {
  if (object.metadata?.managedFields === undefined) return object
  const { managedFields: _, ...metadata } = object.metadata
  return { ...object, metadata }
}
