import assert from 'node:assert/strict'
import { test } from 'node:test'
import { apiServiceResource } from '#api/apiregistration/v1/api-service.ts'
import type { V1APIService } from '#api/apiregistration/v1/types.gen.ts'
import { tryCreate, tryRow, tryUpdate } from '#api/testing/try-kind.ts'

const service = (spec: Partial<V1APIService['spec']> = {}, name = 'v1.g.example.com'): V1APIService => ({
  metadata: { name, resourceVersion: '1' },
  spec: { group: 'g.example.com', version: 'v1', groupPriorityMinimum: 100, versionPriority: 10, ...spec },
})

test('a local API is available from the start, another one not', () => {
  assert.deepEqual(tryCreate(apiServiceResource, service()).object.status?.conditions, [
    {
      type: 'Available',
      status: 'True',
      lastTransitionTime: '2026-01-02T03:04:05Z',
      reason: 'Local',
      message: 'Local APIServices are always available',
    },
  ])
  const remote = tryCreate(apiServiceResource, service({ service: { name: 's', namespace: 'n' } })).object
  assert.deepEqual([remote.status, remote.spec.service?.port], [{}, 443])
})

test('API services are validated in the words clients know', () => {
  const cases: [V1APIService, string[]][] = [
    [service(), []],
    [service({}, 'nope'), ['metadata.name: Invalid value: "nope": must be `spec.version+"."+spec.group`: "v1.g.example.com"']],
    [
      service({ group: '', version: 'v2' }, 'v2.'),
      ['spec.group: Required value: only v1 may have an empty group and it better be legacy kube'],
    ],
    [
      service({ groupPriorityMinimum: 0, versionPriority: 2000 }),
      [
        'spec.groupPriorityMinimum: Invalid value: 0: must be positive and less than 20000',
        'spec.versionPriority: Invalid value: 2000: must be positive and less than 1000',
      ],
    ],
    [
      service({ caBundle: 'eHl6', insecureSkipTLSVerify: true }),
      [
        'spec.caBundle: Invalid value: "3 bytes": local APIServices may not have a caBundle',
        'spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify',
      ],
    ],
    [
      service({ service: { port: 70_000 }, caBundle: 'eHl6', insecureSkipTLSVerify: true }),
      [
        'spec.service.namespace: Required value',
        'spec.service.name: Required value',
        'spec.service.port: Invalid value: 70000: port is not valid: must be between 1 and 65535, inclusive',
        'spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present',
      ],
    ],
  ]
  for (const [object, errors] of cases) assert.deepEqual(tryCreate(apiServiceResource, object).errors, errors)
  const status = { conditions: [{ type: 'Available', status: 'Maybe' }] }
  assert.deepEqual(tryUpdate(apiServiceResource, service(), { ...service(), status }, { subresource: 'status' }).errors, [
    'status.conditions[0].status: Unsupported value: "Maybe": supported values: "True", "False", "Unknown"',
  ])
})

test('a row tells why an API is away', () => {
  const conditions = [{ type: 'Available', status: 'False', reason: 'MissingEndpoints' }]
  const remote = { ...service({ service: { name: 's', namespace: 'n' } }), status: { conditions } }
  const row = tryRow(apiServiceResource, remote)
  assert.deepEqual([row['Service'], row['Available']], ['n/s', 'False (MissingEndpoints)'])
  assert.deepEqual(
    [tryRow(apiServiceResource, service())['Service'], tryRow(apiServiceResource, service())['Available']],
    ['Local', 'Unknown'],
  )
})
