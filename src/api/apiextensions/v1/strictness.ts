/** How strictly a definition is validated: what its stored form already has wrong, an update of it may keep. */

import { CustomResourceDefinition } from '#api/apiextensions/v1/kinds.gen.ts'
import { unsupportedField, validateStructural } from '#api/apiextensions/v1/schema/structural.ts'
import { hasUnprunedDefault } from '#api/apiextensions/v1/schema/validate-defaults.ts'
import { hasMergedItems, openApiTypes, type SchemaRules, validateListKeys } from '#api/apiextensions/v1/schema/validate-schema.ts'
import { someSchema } from '#api/apiextensions/v1/schema/walk.ts'
import type { V1CustomResourceDefinition, V1JSONSchemaProps } from '#api/apiextensions/v1/types.gen.ts'
import { schemaFor, schemasOf, type UnversionedSpec } from '#api/apiextensions/v1/unversioned-spec.ts'
import { Check } from '#api/meta/check.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { isConditionTrue } from '#api/meta/find-condition.ts'
import { knowsReviewVersion } from '#api/meta/review-versions.ts'
import { caBundleError } from '#api/meta/webhook-client.ts'
import type { Steps } from '#base/steps.ts'

const sameVersion = equalityOf(CustomResourceDefinition).at('spec').at('versions').each

export type Strictness = SchemaRules & {
  schemaPresent: boolean
  structural: boolean
  prunedDefaults: boolean
  knownReviewVersion: boolean
  /** Before objects are served nothing is converted, so that the CA may still be missing. */
  soundCaBundle: boolean
  /** The versions whose schema an update leaves alone. */
  unchanged: ReadonlySet<string>
  storedExpressions: ReadonlySet<string>
  /** The versions, or '' for what they share, that had too many selectable fields and keep them. */
  manySelectableFields: ReadonlySet<string>
}

export const strict: Strictness = {
  schemaPresent: true,
  structural: true,
  prunedDefaults: true,
  validTypes: true,
  atomicSets: true,
  sureListKeys: true,
  knownReviewVersion: true,
  soundCaBundle: false,
  unchanged: new Set(),
  storedExpressions: new Set(),
  manySelectableFields: new Set(),
}

/** What v1beta1 let pass: definitions without schemas, and schemas that only tell part of the structure. */
export function relaxedFor(requestVersion: string | undefined, given: Strictness): Strictness {
  return isOldVersion(requestVersion) ? { ...given, schemaPresent: false, structural: false, validTypes: false } : given
}

export const isOldVersion = (requestVersion: string | undefined): boolean => requestVersion === 'apiextensions.k8s.io/v1beta1'

/** In steps, each of which goes through the stored schemas. */
export function* strictnessFor(next: UnversionedSpec, prev: UnversionedSpec, isServed: boolean): Steps<Strictness> {
  const schemas = schemasOf(prev)
  const none = (is: (schema: V1JSONSchemaProps) => boolean) => !schemas.some((schema) => someSchema(schema, is))
  const prevReviewVersions = prev.conversion?.conversionReviewVersions ?? []
  const prevBundle = prev.conversion?.webhookClientConfig?.caBundle
  yield
  const structural: V1JSONSchemaProps[] = []
  for (const schema of schemas) {
    if (unsupportedField(schema) !== undefined) continue
    yield
    if (isStructural(schema)) structural.push(schema)
    yield
  }
  const validTypes = none(({ type }) => !!type && !openApiTypes.includes(type))
  yield
  const atomicSets = none(hasMergedItems)
  yield
  const sureListKeys = none(hasUnsureKeys)
  yield
  const prunedDefaults = !structural.some(hasUnprunedDefault)
  yield
  const storedExpressions = expressionsIn(schemas)
  yield
  return {
    schemaPresent: prev.validation?.openAPIV3Schema != null || (prev.versions ?? []).every(({ schema }) => schema?.openAPIV3Schema != null),
    structural: structural.length === schemas.length,
    prunedDefaults,
    validTypes,
    atomicSets,
    sureListKeys,
    knownReviewVersion: prevReviewVersions.length === 0 || knowsReviewVersion(prevReviewVersions),
    soundCaBundle: isServed && (!prevBundle || caBundleError(prevBundle) === undefined),
    unchanged: new Set((next.versions ?? []).map(({ name }) => name).filter((name) => hasSameSchema(next, prev, name))),
    storedExpressions,
    manySelectableFields: new Set(
      [
        { name: '', now: next.selectableFields, before: prev.selectableFields },
        ...(next.versions ?? []).map(({ name, selectableFields }) => ({
          name,
          now: selectableFields,
          before: prev.versions?.find((version) => version.name === name)?.selectableFields,
        })),
      ].flatMap(({ name, now, before }) => ((before?.length ?? 0) > 8 && sameVersion.at('selectableFields')(now, before) ? name : [])),
    ),
  }
}

function isStructural(schema: V1JSONSchemaProps): boolean {
  const scratch = new Check(schema)
  validateStructural(scratch)
  return !scratch.failed
}

function hasUnsureKeys(schema: V1JSONSchemaProps): boolean {
  const scratch = new Check(schema.items)
  validateListKeys(schema, scratch)
  return scratch.failed
}

function hasSameSchema(next: UnversionedSpec, prev: UnversionedSpec, name: string): boolean {
  return (
    prev.versions?.some((version) => version.name === name) === true &&
    sameVersion.at('schema').at('openAPIV3Schema')(schemaFor(next, name), schemaFor(prev, name))
  )
}

function expressionsIn(schemas: readonly V1JSONSchemaProps[]): Set<string> {
  const expressions = new Set<string>()
  for (const schema of schemas) {
    someSchema(schema, (each) => {
      for (const { rule, messageExpression } of each['x-kubernetes-validations'] ?? []) {
        expressions.add(rule)
        if (messageExpression) expressions.add(messageExpression)
      }
      return false
    })
  }
  return expressions
}

export function isEstablished({ status }: V1CustomResourceDefinition): boolean {
  return isConditionTrue(status?.conditions, 'Established')
}
