import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultTokenRequest, validateTokenRequest } from '#api/authentication/v1/token-request.ts'
import { localSubjectAccessReviewResource } from '#api/authorization/v1/local-subject-access-review.ts'
import { selfSubjectAccessReviewResource } from '#api/authorization/v1/self-subject-access-review.ts'
import { subjectAccessReviewResource } from '#api/authorization/v1/subject-access-review.ts'
import type { V1SelfSubjectAccessReviewSpec, V1SubjectAccessReviewSpec } from '#api/authorization/v1/types.gen.ts'
import { Check } from '#api/meta/check.ts'
import type { V1ObjectMeta } from '#api/meta/v1/types.gen.ts'
import type { KubernetesObject, ResourceDefinition } from '#api/resource.ts'

/** Reviews are validated by their own rules alone: they have no metadata. */
function errorsOf<T extends KubernetesObject>(definition: ResourceDefinition<T>, review: T, isEnabled = true): string[] {
  const check = new Check(review)
  const context = { now: '2026-01-02T03:04:05Z', isEnabled: () => isEnabled }
  definition.prepareForCreate?.(review, context)
  definition.validate?.(review, check, context)
  return check.errors.map(({ field, body }) => `${field}: ${body}`)
}

const resourceAttributes = { verb: 'get', resource: 'pods', namespace: 'n' }
const nonResourceAttributes = { path: '/', verb: 'get' }

test('a review asks about a resource or about a path', () => {
  const of = (spec: V1SelfSubjectAccessReviewSpec, metadata: V1ObjectMeta = {}) => ({ metadata, spec })
  const selector = { rawSelector: 'a', requirements: [{ key: 'a', operator: 'Exists' }] }
  const raw = 'Invalid value: "a": may not specified at the same time as requirements'
  const cases: [V1SelfSubjectAccessReviewSpec, string[]][] = [
    [{ resourceAttributes }, []],
    [{ nonResourceAttributes }, []],
    [{}, ['spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified']],
    [
      { resourceAttributes, nonResourceAttributes },
      ['spec.nonResourceAttributes: Invalid value: {"Path":"/","Verb":"get"}: cannot be specified in combination with resourceAttributes'],
    ],
    [
      { resourceAttributes: { ...resourceAttributes, fieldSelector: {}, labelSelector: selector } },
      [
        'spec.resourceAttributes.fieldSelector.requirements: Required value: when spec.resourceAttributes.fieldSelector is specified, requirements or rawSelector is required',
        `spec.resourceAttributes.labelSelector.rawSelector: ${raw}`,
      ],
    ],
  ]
  for (const [spec, errors] of cases) assert.deepEqual(errorsOf(selfSubjectAccessReviewResource, of(spec)), errors)
  assert.deepEqual(errorsOf(selfSubjectAccessReviewResource, of({ resourceAttributes }, { name: 'x' })), [
    'metadata: Invalid value: {"name":"x"}: must be empty',
  ])
  assert.deepEqual(
    errorsOf(selfSubjectAccessReviewResource, of({ resourceAttributes: { ...resourceAttributes, labelSelector: selector } }), false),
    [],
  )
})

test('a review about others names somebody', () => {
  const of = (spec: V1SubjectAccessReviewSpec, metadata: V1ObjectMeta = {}) => ({ metadata, spec })
  const nobody = 'spec.user: Invalid value: "": at least one of user or group must be specified'
  assert.deepEqual(errorsOf(subjectAccessReviewResource, of({ resourceAttributes })), [nobody])
  assert.deepEqual(errorsOf(subjectAccessReviewResource, of({ resourceAttributes, groups: ['g'] })), [])
  assert.deepEqual(errorsOf(localSubjectAccessReviewResource, of({ resourceAttributes, user: 'u' }, { namespace: 'n' })), [])
  assert.deepEqual(errorsOf(localSubjectAccessReviewResource, of({ resourceAttributes, user: 'u' }, { namespace: 'm', name: 'x' })), [
    'metadata: Invalid value: {"namespace":"m","name":"x"}: must be empty except for namespace',
    'spec.resourceAttributes.namespace: Invalid value: "n": must match metadata.namespace',
  ])
  assert.deepEqual(errorsOf(localSubjectAccessReviewResource, of({ nonResourceAttributes, user: 'u' }, { namespace: 'm' })), [
    'spec.nonResourceAttributes: Invalid value: {"Path":"/","Verb":"get"}: disallowed on this kind of request',
  ])
})

test('tokens last an hour unless asked otherwise, and at least ten minutes', () => {
  const request = { spec: { audiences: [] } } as never as Parameters<typeof defaultTokenRequest>[0]
  defaultTokenRequest(request)
  assert.equal(request.spec.expirationSeconds, 3600)
  const cases: [number, string[]][] = [
    [3600, []],
    [599, ['Invalid value: 599: may not specify a duration less than 10 minutes']],
    [2 ** 32 + 1, ['Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds']],
  ]
  for (const [expirationSeconds, bodies] of cases) {
    const validated = { ...request, spec: { ...request.spec, expirationSeconds } }
    const check = new Check(validated)
    validateTokenRequest(validated, check)
    assert.deepEqual(
      check.errors.map(({ body }) => body),
      bodies,
    )
  }
})
