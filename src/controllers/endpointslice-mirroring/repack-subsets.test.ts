import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1EndpointSubset } from '#api/core/v1/types.gen.ts'
import { repackSubsets } from '#controllers/endpointslice-mirroring/repack-subsets.ts'

const http = { name: 'http', port: 80, protocol: 'TCP' }
const https = { name: 'https', port: 443, protocol: 'TCP' }
const at = (...ips: string[]) => ips.map((ip) => ({ ip }))

const tables: { name: string; given: V1EndpointSubset[]; expected: string[] }[] = [
  {
    name: 'subsets with the same ports become one',
    given: [
      { addresses: at('10.0.0.2'), ports: [http] },
      { addresses: at('10.0.0.1'), notReadyAddresses: at('10.0.0.3'), ports: [http] },
    ],
    expected: ['http: 10.0.0.1 10.0.0.2 / 10.0.0.3'],
  },
  {
    name: 'ports of the same addresses come together',
    given: [
      { addresses: at('10.0.0.1'), ports: [http] },
      { addresses: at('10.0.0.1'), ports: [https] },
    ],
    expected: ['http https: 10.0.0.1 / '],
  },
  {
    name: 'a port that two subsets have goes with the addresses of both',
    given: [
      { addresses: at('10.0.0.1'), ports: [http, https] },
      { addresses: at('10.0.0.2'), ports: [http] },
    ],
    expected: ['http: 10.0.0.1 10.0.0.2 / ', 'https: 10.0.0.1 / '],
  },
  {
    name: 'who is not ready at a port is not, whatever else is said',
    given: [
      { notReadyAddresses: at('10.0.0.1'), ports: [http] },
      { addresses: at('10.0.0.1'), ports: [http] },
    ],
    expected: ['http:  / 10.0.0.1'],
  },
  { name: 'addresses without ports stay', given: [{ addresses: at('10.0.0.1') }], expected: [': 10.0.0.1 / '] },
]

for (const { name, given, expected } of tables) {
  test(name, () => {
    const ips = (addresses: { ip: string }[] = []) => addresses.map(({ ip }) => ip).join(' ')
    const shown = repackSubsets(given).map(
      ({ ports = [], addresses, notReadyAddresses }) =>
        `${ports.map((port) => port.name).join(' ')}: ${ips(addresses)} / ${ips(notReadyAddresses)}`,
    )
    assert.deepEqual(shown, expected)
  })
}
