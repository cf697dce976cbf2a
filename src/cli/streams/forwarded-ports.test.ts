import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Pod, V1Service } from '#api/core/v1/types.gen.ts'
import { parsedPort, translatedPorts } from './forwarded-ports.ts'

const pod = {
  metadata: { name: 'p' },
  spec: {
    containers: [
      {
        name: 'c',
        ports: [
          { name: 'http', containerPort: 80, protocol: 'TCP' },
          { name: 'dns', containerPort: 53, protocol: 'UDP' },
          { name: 'both', containerPort: 54, protocol: 'UDP' },
          { name: 'too', containerPort: 54, protocol: 'TCP' },
        ],
      },
    ],
  },
} as V1Pod
const service = {
  metadata: { name: 's' },
  spec: {
    clusterIP: '10.0.0.1',
    ports: [
      { name: 'web', port: 8080, targetPort: 'http', protocol: 'TCP' },
      { name: 'plain', port: 81, protocol: 'TCP' },
      { name: 'dns', port: 53, targetPort: 'dns', protocol: 'UDP' },
    ],
  },
} as V1Service

const shown = (spec: string, ...of: [V1Pod, V1Service?]) =>
  translatedPorts([spec], ...of)
    .map(parsedPort)
    .map(({ local, remote }) => `${local}:${remote}`)
    .join()

for (const [spec, wanted] of [
  ['5000', '5000:5000'],
  ['8080:80', '8080:80'],
  [':80', '0:80'],
  ['http', '80:80'],
  ['1:http', '1:80'],
  ['54', '54:54'],
  ['1:2:3', '1:1'],
])
  test(`${spec} of a pod leads ${wanted}`, () => assert.equal(shown(spec ?? '', pod), wanted))

for (const [spec, wanted] of [
  ['8080', '8080:80'],
  ['web', '8080:80'],
  ['1:web', '1:80'],
  ['81', '81:81'],
])
  test(`${spec} of a service leads ${wanted}`, () => assert.equal(shown(spec ?? '', pod, service), wanted))

for (const [spec, complaint, of] of [
  ['53', 'UDP protocol is not supported for 53', [pod]],
  ['1:dns', 'UDP protocol is not supported for dns', [pod]],
  ['dns', 'UDP protocol is not supported for dns', [pod, service]],
  ['', "Pod 'p' does not have a named port ''", [pod]],
  ['x', "Pod 'p' does not have a named port 'x'", [pod]],
  ['x', "Service 's' does not have a named port 'x'", [pod, service]],
  ['9', 'Service s does not have a service port 9', [pod, service]],
  ['0', 'remote port must be > 0', [pod]],
  ['x:80', `error parsing local port 'x': strconv.ParseUint: parsing "x": invalid syntax`, [pod]],
  ['99999', `error parsing local port '99999': strconv.ParseUint: parsing "99999": value out of range`, [pod]],
] as const)
  test(`${JSON.stringify(spec)} is refused: ${complaint}`, () => assert.throws(() => shown(spec, of[0], of[1]), { message: complaint }))
