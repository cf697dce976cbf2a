import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Pod, V1Service } from '#api/core/v1/types.gen.ts'
import { ServicePorts } from '#controllers/endpointslice/pod-endpoints.ts'

const service = (...ports: NonNullable<NonNullable<V1Service['spec']>['ports']>): V1Service => ({ metadata: {}, spec: { ports } })
const pod = (...ports: [name: string, containerPort: number, protocol?: string][]): V1Pod => ({
  metadata: {},
  spec: { containers: ports.map(([name, containerPort, protocol = 'TCP']) => ({ name, ports: [{ name, containerPort, protocol }] })) },
})

function asking(of: V1Service) {
  let made = 0
  const portOf = ({ name }: { name?: string }, port: number) => {
    made++
    return `${name}:${port}`
  }
  return { ports: new ServicePorts(of, { portOf, keyOf: (ports) => ports.join() }), made: () => made }
}

test('a service means ports by number, by name and protocol, or its own', () => {
  const { ports } = asking(
    service(
      { name: 'own', port: 80 },
      { name: 'number', port: 81, targetPort: 8081 },
      { name: 'zero', port: 82, targetPort: 0 },
      { name: 'named', port: 83, targetPort: 'web' },
      { name: 'udp', port: 84, targetPort: 'web', protocol: 'UDP' },
      { name: 'nowhere', port: 85, targetPort: 'other' },
    ),
  )
  const found = ports.of(pod(['web', 9000, 'UDP'], ['web', 9001], ['web', 9002]))
  assert.equal(found.key, 'own:80,number:8081,zero:82,named:9001,udp:9000')
  assert.equal(ports.of(pod()).key, 'own:80,number:8081,zero:82')
})

test('what pods have in common is made once', () => {
  const numbered = asking(service({ name: 'a', port: 80 }, { name: 'b', port: 81, targetPort: 8081 }))
  for (let count = 0; count < 10; count++) numbered.ports.of(pod(['web', count]))
  assert.equal(numbered.made(), 2)
  const named = asking(service({ name: 'a', port: 80, targetPort: 'web' }))
  const keys = Array.from({ length: 10 }, (_, index) => named.ports.of(pod(['web', 8000 + (index % 2)])).key)
  assert.deepEqual(new Set(keys), new Set(['a:8000', 'a:8001']))
  assert.equal(named.made(), 2)
})
