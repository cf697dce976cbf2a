import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Service } from '#api/core/v1/types.gen.ts'
import { serviceVariables } from '#kubelet/environment/service-variables.ts'

test('a service with several ports, in the names other programs know', () => {
  const service = {
    metadata: { name: 'my-db', namespace: 'shop' },
    spec: {
      clusterIP: '10.96.0.9',
      ports: [
        { name: 'sql', port: 5432, protocol: 'TCP' },
        { name: 'gossip-udp', port: 5433, protocol: 'UDP' },
      ],
    },
  } as V1Service
  assert.deepEqual(Object.fromEntries(serviceVariables([service], 'shop', true)), {
    MY_DB_SERVICE_HOST: '10.96.0.9',
    MY_DB_SERVICE_PORT: '5432',
    MY_DB_SERVICE_PORT_SQL: '5432',
    MY_DB_SERVICE_PORT_GOSSIP_UDP: '5433',
    MY_DB_PORT: 'tcp://10.96.0.9:5432',
    MY_DB_PORT_5432_TCP: 'tcp://10.96.0.9:5432',
    MY_DB_PORT_5432_TCP_PROTO: 'tcp',
    MY_DB_PORT_5432_TCP_PORT: '5432',
    MY_DB_PORT_5432_TCP_ADDR: '10.96.0.9',
    MY_DB_PORT_5433_UDP: 'udp://10.96.0.9:5433',
    MY_DB_PORT_5433_UDP_PROTO: 'udp',
    MY_DB_PORT_5433_UDP_PORT: '5433',
    MY_DB_PORT_5433_UDP_ADDR: '10.96.0.9',
  })
})

test("a service named kubernetes in the pod's own namespace hides the API's where links are wanted", () => {
  const named = (namespace: string, clusterIP: string) =>
    ({ metadata: { name: 'kubernetes', namespace }, spec: { clusterIP, ports: [{ port: 443 }] } }) as V1Service
  const host = (services: V1Service[], wantsAll: boolean) => serviceVariables(services, 'shop', wantsAll).get('KUBERNETES_SERVICE_HOST')
  const [api, own] = [named('default', 'fd00::1'), named('shop', '10.96.0.7')]
  assert.equal(host([api, own], false), 'fd00::1')
  assert.equal(host([api, own], true), '10.96.0.7')
  assert.equal(host([own, api], true), '10.96.0.7')
  assert.equal(serviceVariables([api], 'shop', false).get('KUBERNETES_PORT'), 'tcp://[fd00::1]:443')
})
