import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GrpcError, grpcCodes, startGrpcServer } from '#base/grpc.ts'
import { grpcHealthCheck } from '#kubelet/probes/grpc-health.ts'

const method = '/grpc.health.v1.Health/Check'

test('a server is asked how it and its services are', async () => {
  const asked: string[] = []
  const server = await startGrpcServer({
    address: '127.0.0.1:0',
    handlers: {
      [method]: {
        async answer(request) {
          const service = Buffer.from(request.subarray(2)).toString()
          asked.push(service)
          if (service === 'lost') throw new GrpcError(grpcCodes.notFound, 'no such service')
          return Buffer.from(service === 'sick' ? [0x08, 2] : [0x08, 1])
        },
      },
    },
  })
  const ask = (service: string) => grpcHealthCheck({ host: '127.0.0.1', port: server.port, service, timeoutMs: 60_000 })
  assert.equal(await ask(''), undefined)
  assert.equal(await ask('a'.repeat(127)), undefined)
  assert.equal(await ask('sick'), 'service unhealthy (responded with "NOT_SERVING")')
  assert.equal(await ask('lost'), 'error: health rpc probe failed: rpc error: code = NotFound desc = no such service')
  assert.deepEqual(asked, ['', 'a'.repeat(127), 'sick', 'lost'])
  await server.close()
})

test('a server that knows nothing of health says so', async () => {
  const server = await startGrpcServer({ address: '127.0.0.1:0', handlers: { '/other/Method': { answer: async () => Buffer.alloc(0) } } })
  const problem = await grpcHealthCheck({ host: '127.0.0.1', port: server.port, service: '', timeoutMs: 60_000 })
  assert.match(problem ?? '', /^error: this server does not implement the grpc health protocol \(grpc\.health\.v1\.Health\): /)
  await server.close()
})
