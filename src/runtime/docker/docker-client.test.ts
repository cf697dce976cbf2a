import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { GrpcError } from '#base/grpc.ts'
import { grpcCodes } from '#base/grpc.ts'
import type { PassedRequest, UpgradeClient } from '#base/upgrade-client.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { DockerClient } from '#runtime/docker/docker-client.ts'
import { FakeDocker } from '#runtime/docker/testing/fake-docker.ts'

test('a Docker that does not answer is given up after two minutes', async () => {
  const [clock, fake] = [new VirtualClock(), new FakeDocker()]
  using docker = await DockerClient.connect('/nowhere', clock, fake)
  fake.isHung = true
  const call = docker.json('GET', '/info')
  const refused = assert.rejects(call, (error: GrpcError) => error.code === grpcCodes.deadlineExceeded && /in 120s/.test(error.message))
  await clock.advance({ seconds: 121 })
  await refused
})

test('refusals have the codes that kubelets know', async () => {
  using docker = await DockerClient.connect('/nowhere', new VirtualClock(), new FakeDocker())
  const refusal = { code: grpcCodes.notFound, message: 'No such container: nobody', status: 404 }
  await assert.rejects(docker.json('GET', '/containers/nobody/json'), refusal)
})

test('the version of the API is the newest that both sides know', async () => {
  for (const [offered, spoken] of [
    ['1.41', '/v1.41/info'],
    ['1.52', '/v1.47/info'],
  ] as const) {
    const asked: string[] = []
    const answer = (body: string) => ({
      ...{ status: 200, headers: {}, rawHeaders: [] },
      body: (async function* () {
        yield Buffer.from(body)
      })(),
    })
    const http: UpgradeClient = {
      send: async ({ url }: PassedRequest) => {
        asked.push(new URL(url).pathname)
        return answer(JSON.stringify({ ApiVersion: offered }))
      },
      [Symbol.dispose]() {},
    }
    using docker = await DockerClient.connect('/nowhere', new VirtualClock(), http)
    await docker.json('GET', '/info')
    assert.deepEqual(asked, ['/version', spoken])
  }
})
