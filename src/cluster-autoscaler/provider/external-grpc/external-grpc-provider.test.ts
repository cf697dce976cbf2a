import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeProtobufMessage } from '#api/codec/protobuf.ts'
import type { V1Node } from '#api/core/v1/types.gen.ts'
import { issueIdentity, newAuthority } from '#apiserver/pki/authority.ts'
import { defined } from '#base/defined.ts'
import { nodeFiles } from '#base/files.ts'
import { GrpcError, type GrpcHandler, type GrpcTls, grpcCodes, startGrpcServer } from '#base/grpc.ts'
import { seededRandom } from '#base/random.ts'
import { defaultAutoscalerOptions } from '#cluster-autoscaler/options.ts'
import { openExternalGrpc } from '#cluster-autoscaler/provider/external-grpc/open-external-grpc.ts'
import {
  type ExternalGrpcMethod,
  type ExternalGrpcRequest,
  type ExternalGrpcResponse,
  externalGrpcMethods,
} from '#wire/cluster-autoscaler/external-grpc-messages.ts'
import { describeMessages, encodeMessage } from '#wire/protobuf-messages.ts'

type Answers = { [Name in ExternalGrpcMethod]?: (request: ExternalGrpcRequest<Name>) => ExternalGrpcResponse<Name> }

/** What the server has, and the client's files: PEM texts by the names of the settings. */
type Security = { server: GrpcTls; client: Record<string, string> }

async function served(answers: Answers, { server: tls, client = {} }: Partial<Security> = {}) {
  const asked: [string, unknown][] = []
  const handlers = Object.fromEntries(
    Object.entries(externalGrpcMethods).map(([name, method]): [string, GrpcHandler] => [
      method.path,
      {
        async answer(bytes) {
          const answer = answers[name as ExternalGrpcMethod] as ((request: unknown) => unknown) | undefined
          if (answer === undefined) throw new GrpcError(grpcCodes.unimplemented, 'not here')
          const request = method.decodeRequest(bytes)
          asked.push([name, request])
          return method.encodeResponse(answer(request) as never)
        },
      },
    ]),
  )
  const server = await startGrpcServer({ address: '127.0.0.1:0', handlers, ...defined({ tls }) })
  const directory = await nodeFiles.temporaryDirectory('autoscaler provider ')
  const path = `${directory}/cloud.yaml`
  const lines = [`address: 127.0.0.1:${server.port}`, 'grpc_timeout: 60s']
  for (const [name, text] of Object.entries(client)) {
    await nodeFiles.write(`${directory}/${name}.pem`, text)
    lines.push(`${name}: "${directory}/${name}.pem"`)
  }
  await nodeFiles.write(path, lines.join('\n'))
  const provider = await openExternalGrpc(path, nodeFiles)
  return {
    provider,
    asked,
    async [Symbol.asyncDispose]() {
      await provider.close()
      await server.close()
      await nodeFiles.remove(directory)
    },
  }
}

const template: V1Node = {
  metadata: { name: 'new', labels: { size: 'big' } },
  spec: {},
  status: { allocatable: { cpu: '8', memory: '16Gi' } },
}
const node: V1Node = { metadata: { name: 'n1', labels: { a: 'b' } }, spec: { providerID: 'cloud://1' } }

test('everything the autoscaler asks is asked of the other program, by upstream protocol', async () => {
  await using world = await served({
    refresh: () => ({}),
    cleanup: () => ({}),
    gpuLabel: () => ({ label: 'cloud/gpu' }),
    nodeGroups: () => ({ nodeGroups: [{ id: 'workers', minSize: 1, maxSize: 5, debug: '' }] }),
    nodeGroupForNode: (request) => ({
      nodeGroup: { id: request.node?.providerID === 'cloud://1' ? 'workers' : '', minSize: 0, maxSize: 0, debug: '' },
    }),
    targetSize: () => ({ targetSize: 3 }),
    increaseSize: () => ({}),
    decreaseTargetSize: () => ({}),
    deleteNodes: () => ({}),
    nodes: () => ({
      instances: [
        { id: 'cloud://1', status: { instanceState: 1 } },
        {
          id: 'cloud://2',
          status: { instanceState: 2, errorInfo: { errorCode: 'STOCKOUT', errorMessage: 'none left', instanceErrorClass: 1 } },
        },
      ],
    }),
    templateNodeInfo: () => ({ nodeBytes: encodeProtobufMessage(template, 'io.k8s.api.core.v1.Node') }),
    getOptions: (request) => ({
      nodeGroupAutoscalingOptions: {
        ...(request.defaults ?? assert.fail()),
        scaleDownUtilizationThreshold: 0.75,
        scaleDownUnneededDuration: { seconds: 90, nanos: 500_000_000 },
      },
    }),
    pricingNodePrice: () => ({ price: 0.25 }),
    pricingPodPrice: () => ({ price: 0.125 }),
  })
  const { provider, asked } = world
  await provider.refresh()
  const [group] = provider.nodeGroups()
  assert.ok(group)
  assert.deepEqual([group.id, group.minSize, group.maxSize, provider.gpuLabel], ['workers', 1, 5, 'cloud/gpu'])
  assert.equal((await provider.groupOf(node))?.id, 'workers')
  assert.equal(await provider.groupOf({ metadata: { name: 'other' }, spec: {} }), undefined)
  await provider.groupOf(node)
  assert.equal(asked.filter(([name]) => name === 'nodeGroupForNode').length, 2, 'each node is asked about once a round')
  assert.equal(await group.targetSize(), 3)
  await group.increaseSize(2)
  await group.decreaseTargetSize(1)
  await group.deleteNodes([node])
  assert.deepEqual(asked.slice(-3), [
    ['increaseSize', { id: 'workers', delta: 2 }],
    ['decreaseTargetSize', { id: 'workers', delta: -1 }],
    ['deleteNodes', { id: 'workers', nodes: [{ providerID: 'cloud://1', name: 'n1', labels: { a: 'b' }, annotations: {} }] }],
  ])
  assert.deepEqual(await group.instances(), [
    { id: 'cloud://1', state: 'running' },
    { id: 'cloud://2', state: 'creating', error: { code: 'STOCKOUT', message: 'none left', isOutOfResources: true } },
  ])
  const made = await group.template()
  assert.deepEqual([made?.metadata, made?.status?.allocatable], [template.metadata, template.status?.allocatable])
  const defaults = defaultAutoscalerOptions.group
  assert.deepEqual(await group.options?.(defaults), { ...defaults, scaleDownUtilizationThreshold: 0.75, scaleDownUnneededMs: 90_500 })
  assert.equal(await provider.pricing.nodePrice(node, 1500, 3000), 0.25)
  assert.match(JSON.stringify(asked.at(-1)), /"startTimestamp":\{"seconds":1,"nanos":500000000\}/)
  assert.equal(await provider.pricing.podPrice({ metadata: { name: 'p' }, spec: { containers: [] } }, 0, 1000), 0.125)
})

test('what a provider may leave out is left out, and what it must have fails with its words', async () => {
  await using world = await served({
    refresh: () => ({}),
    nodeGroups: () => ({ nodeGroups: [{ id: 'workers', minSize: 1, maxSize: 5, debug: '' }] }),
    increaseSize() {
      throw new GrpcError(grpcCodes.resourceExhausted, 'no quota')
    },
  })
  const { provider } = world
  await provider.refresh()
  const [group] = provider.nodeGroups()
  assert.equal(await group?.template(), undefined)
  assert.equal(await group?.options?.(defaultAutoscalerOptions.group), undefined)
  await assert.rejects(group?.increaseSize(1) ?? assert.fail(), /no quota/)
  await assert.rejects(group?.targetSize() ?? assert.fail(), /not here/)
})

const nowMs = Date.now()
const { authority: ca } = newAuthority('ca', nowMs, seededRandom(1))
const { authority: otherCa } = newAuthority('ca', nowMs, seededRandom(2))
const issued = (authority: typeof ca, usages: ('serverAuth' | 'clientAuth')[], ipAddresses: string[] = []) => {
  const subject = { commonName: 'provider' }
  const pair = issueIdentity(
    { name: 'provider', signer: 'ca', subject, usages, subjectAltNames: { ipAddresses } },
    authority,
    nowMs,
    seededRandom(3),
  )
  return { certificate: pair.certificatePem, key: pair.privateKeyPem }
}
const serving = issued(ca, ['serverAuth'], ['127.0.0.1'])
const asking = issued(ca, ['clientAuth'])
const client = { cacert: ca.certificatePem, cert: asking.certificate, key: asking.key }
const securities: [string, Security, RegExp | undefined][] = [
  ['both show certificates', { server: { ...serving, authority: ca.certificatePem }, client }, undefined],
  ['the provider alone shows one', { server: serving, client: { cacert: ca.certificatePem } }, undefined],
  [
    'the provider is another’s',
    { server: { ...issued(otherCa, ['serverAuth'], ['127.0.0.1']), authority: ca.certificatePem }, client },
    /UNAVAILABLE|unable to verify|certificate|No connection/,
  ],
  [
    'the provider is of another address',
    { server: { ...issued(ca, ['serverAuth'], ['127.0.0.9']), authority: ca.certificatePem }, client },
    /not in the cert's list|No connection/,
  ],
  [
    'the provider wants a certificate and gets none',
    { server: { ...serving, authority: ca.certificatePem }, client: { cacert: ca.certificatePem } },
    /./,
  ],
]
for (const [title, security, refusal] of securities) {
  test(`over TLS, ${title}: ${refusal === undefined ? 'they talk' : 'nothing is said'}`, async () => {
    await using world = await served({ refresh: () => ({}), nodeGroups: () => ({ nodeGroups: [] }) }, security)
    if (refusal === undefined) await world.provider.refresh()
    else await assert.rejects(world.provider.refresh(), refusal)
    assert.deepEqual(
      world.asked.map(([name]) => name),
      refusal === undefined ? ['refresh', 'nodeGroups'] : [],
    )
  })
}

test('doubles are written as protobuf has them', () => {
  const { Price } = describeMessages({ Price: 'price:1:double' })
  assert.equal(Buffer.from(encodeMessage(Price, { price: 0.25 })).toString('hex'), '09000000000000d03f')
})
