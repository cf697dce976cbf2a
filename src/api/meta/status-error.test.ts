import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Check, type FieldError } from './check.ts'
import { genericServerResponse, isExpired, isNotFound, isReason, retryAfterSeconds } from './server-response.ts'
import * as status from './status-error.ts'

const pods = { group: '', resource: 'pods' }
const deployments = { group: 'apps', resource: 'deployments' }
const none = { group: '', resource: '' }
const required: FieldError = { type: 'FieldValueRequired', field: 'spec', body: 'Required value' }
const wrong: FieldError = { type: 'FieldValueInvalid', field: 'a', body: 'Invalid value: 1: no' }

test('each reason has its code, message and details', () => {
  const cases: [status.StatusError, number, string, string, unknown][] = [
    [status.notFound(pods, 'a'), 404, 'NotFound', 'pods "a" not found', { name: 'a', kind: 'pods' }],
    [
      status.notFound(deployments, 'a'),
      404,
      'NotFound',
      'deployments.apps "a" not found',
      { name: 'a', group: 'apps', kind: 'deployments' },
    ],
    [status.alreadyExists(pods, 'a'), 409, 'AlreadyExists', 'pods "a" already exists', { name: 'a', kind: 'pods' }],
    [
      status.generatedNameTaken(pods, 'a-x'),
      409,
      'AlreadyExists',
      'pods "a-x" already exists, the server was not able to generate a unique name for the object',
      { name: 'a-x', kind: 'pods', retryAfterSeconds: 1 },
    ],
    [
      status.conflict(deployments, 'a'),
      409,
      'Conflict',
      'Operation cannot be fulfilled on deployments.apps "a": the object has been modified; please apply your changes to the latest version and try again',
      { name: 'a', group: 'apps', kind: 'deployments' },
    ],
    [
      status.applyConflict([{ reason: 'FieldManagerConflict', message: 'm', field: '.f' }], 'text'),
      409,
      'Conflict',
      'text',
      { causes: [{ reason: 'FieldManagerConflict', message: 'm', field: '.f' }] },
    ],
    [
      status.invalid({ group: 'apps', kind: 'Deployment' }, 'a', [required]),
      422,
      'Invalid',
      'Deployment.apps "a" is invalid: spec: Required value',
      {
        name: 'a',
        group: 'apps',
        kind: 'Deployment',
        causes: [{ reason: 'FieldValueRequired', message: 'Required value', field: 'spec' }],
      },
    ],
    [
      status.invalid({ group: '', kind: 'Pod' }, '', [required, wrong, required]),
      422,
      'Invalid',
      'Pod "" is invalid: [spec: Required value, a: Invalid value: 1: no]',
      {
        kind: 'Pod',
        causes: [
          { reason: 'FieldValueRequired', message: 'Required value', field: 'spec' },
          { reason: 'FieldValueInvalid', message: 'Invalid value: 1: no', field: 'a' },
          { reason: 'FieldValueRequired', message: 'Required value', field: 'spec' },
        ],
      },
    ],
    [status.invalid({ group: '', kind: 'Pod' }, 'a', []), 422, 'Invalid', 'Pod "a" is invalid', { name: 'a', kind: 'Pod' }],
    [status.badRequest('no'), 400, 'BadRequest', 'no', undefined],
    [status.unauthorized(), 401, 'Unauthorized', 'Unauthorized', undefined],
    [status.unauthorized(''), 401, 'Unauthorized', 'not authorized', undefined],
    [status.forbidden(none, '', 'why'), 403, 'Forbidden', 'forbidden: why', {}],
    [status.forbidden(pods, '', 'why'), 403, 'Forbidden', 'pods is forbidden: why', { kind: 'pods' }],
    [status.forbidden(pods, 'a', 'why'), 403, 'Forbidden', 'pods "a" is forbidden: why', { name: 'a', kind: 'pods' }],
    [status.gone('old'), 410, 'Gone', 'old', undefined],
    [status.expired('old'), 410, 'Expired', 'old', undefined],
    [
      status.methodNotSupported(pods, 'patch'),
      405,
      'MethodNotAllowed',
      'patch is not supported on resources of kind "pods"',
      { kind: 'pods' },
    ],
    [status.notAcceptable(['a/b', 'c/d']), 406, 'NotAcceptable', 'only the following media types are accepted: a/b, c/d', undefined],
    [
      status.unsupportedMediaType(['a/b']),
      415,
      'UnsupportedMediaType',
      'the body of the request was in an unknown format - accepted media types include: a/b',
      undefined,
    ],
    [status.requestEntityTooLarge('limit is 3'), 413, 'RequestEntityTooLarge', 'Request entity too large: limit is 3', undefined],
    [status.tooManyRequests('slow'), 429, 'TooManyRequests', 'Too many requests: slow', undefined],
    [status.tooManyRequests('slow', 5), 429, 'TooManyRequests', 'slow', { retryAfterSeconds: 5 }],
    [status.tooManyRequests('slow', 0), 429, 'TooManyRequests', 'slow', {}],
    [
      status.serverTimeout(deployments, 'list', 2),
      500,
      'ServerTimeout',
      'The list operation against deployments.apps could not be completed at this time, please try again.',
      { name: 'list', group: 'apps', kind: 'deployments', retryAfterSeconds: 2 },
    ],
    [status.timeout('slow'), 504, 'Timeout', 'Timeout: slow', {}],
    [status.internalError('x'), 500, 'InternalError', 'Internal error occurred: x', { causes: [{ message: 'x' }] }],
    [status.serviceUnavailable('x'), 503, 'ServiceUnavailable', 'x', undefined],
  ]
  for (const [error, code, reason, message, details] of cases) {
    const expected = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, details, code }
    assert.equal(JSON.stringify(error.status), JSON.stringify(expected))
    assert.equal(error.message, message)
    assert.equal(error.code, code)
  }
})

test('any error becomes a Status at the edge', () => {
  const error = status.notFound(pods, 'a')
  assert.equal(status.statusOf(error), error.status)
  assert.deepEqual(status.statusOf(new Error('oops')), {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: 'oops',
    code: 500,
  })
  assert.deepEqual(status.success({ name: 'a', kind: 'pods', uid: 'u' }), {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { name: 'a', kind: 'pods', uid: 'u' },
  })
})

test('an answer that is no Status gets a sentence of the client', () => {
  const answer = (code: number, verb: string, message: string, resource = pods, name = 'a') =>
    genericServerResponse({ code, verb, resource, name, message })
  const cases: [status.StatusError, string, string][] = [
    [answer(404, 'GET', ''), 'NotFound', 'the server could not find the requested resource (get pods a)'],
    [answer(404, 'GET', '', deployments, ''), 'NotFound', 'the server could not find the requested resource (get deployments.apps)'],
    [answer(404, 'GET', '', none), 'NotFound', 'the server could not find the requested resource'],
    [answer(409, 'POST', ''), 'AlreadyExists', 'the server reported a conflict (post pods a)'],
    [answer(409, 'PUT', ''), 'Conflict', 'the server reported a conflict (put pods a)'],
    [answer(403, 'GET', 'no'), 'Forbidden', 'no (get pods a)'],
    [
      answer(406, 'GET', 'unknown'),
      'NotAcceptable',
      'the server was unable to respond with a content type that the client supports (get pods a)',
    ],
    [answer(406, 'GET', 'why'), 'NotAcceptable', 'why (get pods a)'],
    [
      answer(500, 'GET', 'bo"om'),
      'InternalError',
      'an error on the server ("bo\\"om") has prevented the request from succeeding (get pods a)',
    ],
    [answer(418, 'GET', ''), '', 'the server responded with the status code 418 but did not return more information (get pods a)'],
  ]
  for (const [error, reason, message] of cases) assert.deepEqual([error.reason, error.message], [reason, message])
  const strange = genericServerResponse({
    code: 503,
    verb: 'GET',
    resource: none,
    name: '',
    message: '<html>',
    retryAfterSeconds: 3,
    isUnexpected: true,
  })
  assert.deepEqual(strange.status.details, {
    causes: [{ reason: 'UnexpectedServerResponse', message: '<html>' }],
    retryAfterSeconds: 3,
  })
})

test('failures are told apart by reason, or by code when the reason is unknown', () => {
  const coded = (code: number, reason: string) => new status.StatusError({ code, reason })
  assert.equal(isNotFound(status.notFound(pods, 'a')), true)
  assert.equal(isNotFound(coded(404, 'Odd')), true)
  assert.equal(isNotFound(coded(404, 'Forbidden')), false)
  assert.equal(isNotFound(new Error('not found')), false)
  assert.equal(isReason(coded(429, 'Forbidden'), 'TooManyRequests'), true)
  assert.equal(isReason(coded(409, ''), 'AlreadyExists'), false)
  assert.equal(isExpired(status.expired('')), true)
  assert.equal(isExpired(coded(410, '')), true)
  assert.equal(retryAfterSeconds(status.tooManyRequests('x', 5)), 5)
  assert.equal(retryAfterSeconds(status.serverTimeout(pods, 'get', 0)), 0)
  assert.equal(retryAfterSeconds(status.timeout('x')), undefined)
})

test('a refusal quotes no more of a megabyte than anybody reads', () => {
  const megabyte = '"\n'.repeat(500_000)
  const check = new Check(megabyte, megabyte)
  check.invalid(megabyte)
  const refused = status.invalid({ group: '', kind: 'Secret' }, megabyte, check.errors)
  assert.ok(Buffer.byteLength(JSON.stringify(refused.status)) < 2 << 20, `${JSON.stringify(refused.status).length}`)
  assert.deepEqual(Object.keys(refused.status), Object.keys(status.notFound(pods, 'a').status))
  assert.ok(JSON.stringify(status.badRequest(megabyte).status).length < 2 << 20)
})
