import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Container, V1Pod } from '#api/core/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { GrpcError, grpcCodes } from '#base/grpc.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { ImageManager } from '#kubelet/images/image-manager.ts'
import type { ImageService } from '#kubelet/images/image-service.ts'
import type { AuthConfig, CriImage } from '#wire/cri/cri-types.ts'

const { signal } = new AbortController()

function aRegistry(
  clock: VirtualClock,
  options: { present?: string[]; pullMs?: number; fails?: (auth: AuthConfig | undefined) => Error | undefined },
) {
  const present = new Set(options.present)
  const pulls: string[] = []
  let running = 0
  let mostRunning = 0
  const images: ImageService = {
    find: async (image) => (present.has(image) ? ({ id: `sha256:${image}`, size: 42 } as CriImage) : undefined),
    async pull(image, auth) {
      pulls.push(auth?.username ? `${image} as ${auth.username}:${auth.password}` : image)
      mostRunning = Math.max(mostRunning, ++running)
      try {
        await clock.sleep(options.pullMs ?? 1500)
      } finally {
        running--
      }
      const error = options.fails?.(auth)
      if (error) throw error
      present.add(image)
      return `sha256:${image}`
    },
  }
  return { images, pulls, mostRunning: () => mostRunning }
}

function setUp(options: Parameters<typeof aRegistry>[1] & { maxParallelPulls?: number; secrets?: Record<string, object> }) {
  const clock = new VirtualClock()
  const registry = aRegistry(clock, options)
  const manager = new ImageManager({
    ...{ images: registry.images, clock, maxParallelPulls: options.maxParallelPulls ?? 1 },
    secrets: {
      async secret(_, name) {
        const config = options.secrets?.[name]
        if (config === undefined) throw new Error('not found')
        const data = { '.dockerconfigjson': Buffer.from(JSON.stringify(config)).toString('base64') }
        return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, type: 'kubernetes.io/dockerconfigjson', data }
      },
    },
  })
  const events: string[] = []
  const tell = (type: string, reason: string, message: string) => void events.push(`${type} ${reason}: ${message}`)
  const ensure = (image: string, imagePullPolicy?: string, pod: Partial<V1Pod['spec']> = {}, uid = 'u1') => {
    const container: V1Container = { name: 'c', image, ...defined({ imagePullPolicy }) }
    const whole: V1Pod = {
      ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', namespace: 'ns', uid } },
      spec: { containers: [container], ...pod },
    }
    return manager.ensureImage(whole, container, tell, signal)
  }
  return { clock, ensure, events, ...registry }
}

const settled = (promise: Promise<string>): Promise<string> =>
  promise.catch((error: Error & { reason?: string }) => `${error.reason}: ${error.message}`)

test('an image that is there is not pulled, unless it is to be looked for each time', async () => {
  const { clock, ensure, events, pulls } = setUp({ present: ['app:1'] })
  assert.equal(await ensure('app:1'), 'sha256:app:1')
  assert.deepEqual(events.splice(0), ['Normal Pulled: Container image "app:1" already present on machine and can be accessed by the pod'])
  const pulled = ensure('app:1', 'Always')
  await clock.advance(2000)
  assert.equal(await pulled, 'sha256:app:1')
  assert.deepEqual(events, [
    'Normal Pulling: Pulling image "app:1"',
    'Normal Pulled: Successfully pulled image "app:1" in 1.5s (1.5s including waiting). Image size: 42 bytes.',
  ])
  assert.deepEqual(pulls, ['app:1'])
})

const refusals: [what: string, image: string, policy: string, failure: string][] = [
  [
    'a name that names nothing',
    'team/UPPER',
    'Always',
    'InvalidImageName: Failed to apply default image tag "team/UPPER": couldn\'t parse image name "team/UPPER": invalid reference format',
  ],
  [
    'what is not there and may not be pulled',
    'app',
    'Never',
    'ErrImageNeverPull: Container image "app" is not present with pull policy of Never',
  ],
]
for (const [what, image, policy, failure] of refusals) {
  test(`${what} is refused`, async () => {
    const { ensure, events, pulls } = setUp({})
    assert.equal(await settled(ensure(image, policy)), failure)
    assert.equal(events.length, 1)
    assert.deepEqual(pulls, [])
  })
}

test('after a failure the wait doubles, from ten seconds to five minutes', async () => {
  const fails = () => new GrpcError(grpcCodes.notFound, 'no such image')
  const { clock, ensure, events, pulls } = setUp({ fails, pullMs: 0 })
  const text = 'rpc error: code = NotFound desc = no such image'
  const attempt = async () => {
    const pulled = settled(ensure('app'))
    await clock.advance(0)
    return pulled
  }
  for (const waitSeconds of [10, 20, 40, 80, 160, 300, 300]) {
    assert.equal(await attempt(), `ErrImagePull: ${text}`)
    await clock.advance(waitSeconds * 1000 - 1)
    assert.equal(await attempt(), `ImagePullBackOff: Back-off pulling image "app": ErrImagePull: ${text}`)
    await clock.advance(1)
  }
  assert.equal(pulls.length, 7)
  assert.equal(pulls[0], 'app:latest')
  assert.deepEqual(events.slice(0, 3), [
    'Normal Pulling: Pulling image "app"',
    `Warning Failed: Failed to pull image "app": ${text}`,
    'Normal BackOff: Back-off pulling image "app"',
  ])
})

test('failures that runtimes name have reasons of their own', async () => {
  const { clock, ensure } = setUp({ fails: () => new GrpcError(grpcCodes.unknown, 'RegistryUnavailable: try later'), pullMs: 0 })
  const pulled = settled(ensure('app:1'))
  await clock.advance(0)
  assert.equal(await pulled, 'RegistryUnavailable: image pull failed for app:1 because the registry is unavailable: try later')
})

test('pods that want the same image wait for one pull, and others wait their turn', async () => {
  const { clock, ensure, pulls, mostRunning, events } = setUp({ maxParallelPulls: 1 })
  const all = Promise.all([ensure('a:1', 'Always', {}, 'u1'), ensure('a:1', 'Always', {}, 'u2'), ensure('b:1', 'Always', {}, 'u3')])
  await clock.advance(10_000)
  assert.deepEqual(await all, ['sha256:a:1', 'sha256:a:1', 'sha256:b:1'])
  assert.deepEqual(pulls, ['a:1', 'b:1'])
  assert.equal(mostRunning(), 1)
  assert.match(events.at(-1) ?? '', /"b:1" in 1\.5s \(3s including waiting\)/)
})

test('what the secrets say is tried in turn, and secrets that are missing are told of', async () => {
  const auths = (place: string, user: string) => ({ auths: { [place]: { auth: Buffer.from(`${user}:word`).toString('base64') } } })
  const { clock, ensure, pulls, events } = setUp({
    fails: (auth) => (auth?.username === 'good' ? undefined : new Error('denied')),
    secrets: {
      wide: auths('https://reg.example.com/v1/', 'bad'),
      narrow: auths('reg.example.com/team', 'good'),
      other: auths('quay.io', 'x'),
    },
  })
  const imagePullSecrets = [{ name: 'wide' }, { name: 'gone' }, { name: 'narrow' }, { name: 'other' }]
  const pulled = ensure('reg.example.com/team/app:1', 'Always', { imagePullSecrets })
  await clock.advance(5000)
  assert.equal(await pulled, 'sha256:reg.example.com/team/app:1')
  assert.deepEqual(pulls, ['reg.example.com/team/app:1 as good:word'])
  assert.match(events[0] ?? '', /FailedToRetrieveImagePullSecret: Unable to retrieve some image pull secrets \(gone\); attempting/)

  const denied = settled(ensure('reg.example.com/other:1', 'Always', { imagePullSecrets }))
  await clock.advance(5000)
  assert.equal(await denied, 'ErrImagePull: denied')
})
