import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { startGrpcServer } from '#base/grpc.ts'
import { CriClient } from '#kubelet/runtimes/cri/cri-client.ts'
import { criMethods } from '#wire/cri/cri-messages.ts'

test('images are asked of the image service where it has a socket of its own, all else of the runtime', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'typernetes-cri-'))
  const asked: string[] = []
  const serve = async (name: string) => {
    const answer = (method: 'version' | 'listImages') => ({
      answer: async () => {
        asked.push(`${name} ${method}`)
        return Buffer.alloc(0)
      },
    })
    const socket = join(directory, name)
    const handlers = { [criMethods.version.path]: answer('version'), [criMethods.listImages.path]: answer('listImages') }
    return { socket, server: await startGrpcServer({ address: `unix:${socket}`, handlers }) }
  }
  const [runtime, images] = [await serve('runtime'), await serve('images')]
  try {
    for (const imageSocket of [`unix://${images.socket}`, '']) {
      using client = await CriClient.connect(`unix://${runtime.socket}`, imageSocket)
      await client.call('version', { version: '' })
      await client.call('listImages', {})
    }
    assert.deepEqual(asked, ['runtime version', 'images listImages', 'runtime version', 'runtime listImages'])
  } finally {
    await Promise.all([runtime.server.close(), images.server.close()])
    rmSync(directory, { recursive: true })
  }
})
