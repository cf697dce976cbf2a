import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Ingress } from '#api/networking/v1/types.gen.ts'
import { ingressResource } from '#api/networking/v1beta1/ingress.ts'
import type { V1beta1Ingress, V1beta1IngressBackend } from '#api/networking/v1beta1/types.gen.ts'
import { tryCreateThrough } from '#api/testing/try-kind.ts'

const ingress = (backend: V1beta1IngressBackend | undefined, more: object = {}): V1beta1Ingress => ({
  metadata: { name: 'a', namespace: 'default' },
  spec: { ...(backend && { backend }), ...more },
})
const create = (given: V1beta1Ingress) => tryCreateThrough<V1beta1Ingress, V1Ingress>(ingressResource, given)
const resource = { apiGroup: 'example.com', kind: 'Bucket', name: 'b' }

test('the port of a backend is a number or a name', () => {
  const cases: [V1beta1IngressBackend, object][] = [
    [{ serviceName: 's', servicePort: 80 }, { service: { name: 's', port: { number: 80 } } }],
    [{ serviceName: 's', servicePort: 'http' }, { service: { name: 's', port: { name: 'http' } } }],
    [{ resource }, { resource }],
  ]
  for (const [old, current] of cases) {
    const { object, shown, errors } = create(ingress(old))
    assert.deepEqual([errors, object.spec?.defaultBackend], [[], current])
    assert.deepEqual(shown.spec.backend, { servicePort: 0, ...old })
    assert.equal(object.metadata?.annotations, undefined)
  }
})

test('paths are of any type unless they say so, and lead to backends', () => {
  const rules = [{ host: 'h', http: { paths: [{ backend: { serviceName: 's', servicePort: 80 } }] } }]
  const { object, shown } = create(ingress(undefined, { rules }))
  const path = { backend: { service: { name: 's', port: { number: 80 } } }, pathType: 'ImplementationSpecific' }
  assert.deepEqual(object.spec?.rules, [{ host: 'h', http: { paths: [path] } }])
  assert.equal(shown.spec.rules?.[0]?.http?.paths[0]?.backend.serviceName, 's')
})

test('errors are about the fields of the version', () => {
  const cases: [V1beta1Ingress, string[]][] = [
    [ingress(undefined), ['spec: Invalid value: null: either `backend` or `rules` must be specified']],
    [ingress({ servicePort: 80 }), ['spec.backend.serviceName: Required value']],
    [ingress({ serviceName: 's' }), ['spec.backend: Required value: port name or number is required']],
    [
      ingress({ serviceName: 's', servicePort: 99999 }),
      ['spec.backend.servicePort: Invalid value: 99999: must be between 1 and 65535, inclusive'],
    ],
    [
      ingress({ serviceName: 's', servicePort: 80, resource }),
      ['spec.backend: Invalid value: "": cannot set both resource and service backends'],
    ],
    // Names of secrets were not looked at then.
    [ingress({ serviceName: 's', servicePort: 80 }, { tls: [{ secretName: 'not a name' }] }), []],
  ]
  for (const [given, errors] of cases) assert.deepEqual(create(given).errors, errors)
})

test('what the stored version cannot say comes back all the same', () => {
  const { object, shown } = create(ingress({ serviceName: 's', servicePort: '' }))
  assert.deepEqual(object.metadata?.annotations, {
    'legacy.typernetes.dev/networking.k8s.io.v1beta1': '[{"at":["spec","backend","servicePort"],"shown":0,"said":""}]',
  })
  assert.deepEqual([shown.spec.backend?.servicePort, shown.metadata.annotations], ['', undefined])
})
