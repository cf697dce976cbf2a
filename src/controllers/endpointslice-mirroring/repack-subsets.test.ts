import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1EndpointSubset } from '#api/core/v1/types.gen.ts'
import { atOnce } from '#base/steps.ts'
import { repackSubsets } from '#controllers/endpointslice-mirroring/repack-subsets.ts'

const http = { name: 'http', port: 80, protocol: 'TCP' }
const https = { name: 'https', port: 443, protocol: 'TCP' }
const at = (...ips: string[]) => ips.map((ip) => ({ ip }))

const repacked = (subsets: V1EndpointSubset[], enough = 20_000) => atOnce(repackSubsets(subsets, { mostEach: 1000, enough }))

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
    const shown = repacked(given).subsets.map(
      ({ ports = [], addresses, notReadyAddresses }) =>
        `${ports.map((port) => port.name).join(' ')}: ${ips(addresses)} / ${ips(notReadyAddresses)}`,
    )
    assert.deepEqual(shown, expected)
  })
}

test('of ports that share thousands of addresses, each with one more, the first have room', () => {
  const ports = Array.from({ length: 2000 }, (_, index) => ({ name: `p${index}`, port: index + 1 }))
  const shared = at(...Array.from({ length: 5000 }, (_, index) => `10.0.${index >> 8}.${index & 255}`))
  const { subsets, portsLeft } = repacked([
    { ports, addresses: shared },
    ...ports.map((port, index) => ({ ports: [port], addresses: at(`11.0.${index >> 8}.${index & 255}`) })),
  ])
  assert.equal(subsets.length, 20)
  assert.equal(portsLeft, 1980)
})
