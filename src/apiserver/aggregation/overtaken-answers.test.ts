/** Answers of the servers behind APIServices come in any order, and so does the word that they have changed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1APIService } from '#api/apiregistration/v1/types.gen.ts'
import type { RemoteAnswer } from '#apiserver/aggregation/ask-remote.ts'
import type { RemoteApi } from '#apiserver/aggregation/remote-api.ts'
import { RemoteApis } from '#apiserver/aggregation/remote-apis.ts'
import { RemoteDiscovery } from '#apiserver/aggregation/remote-discovery.ts'
import { RemoteOpenApi } from '#apiserver/aggregation/remote-openapi.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import type { Logger } from '#base/log.ts'

const logger = { debug() {}, warn() {} } as unknown as Logger

function oneRemote(): { apis: RemoteApis; api: RemoteApi } {
  const apis = new RemoteApis()
  const object = {
    metadata: { name: 'v1.example.com' },
    spec: { group: 'example.com', version: 'v1', service: { namespace: 'n', name: 's' }, groupPriorityMinimum: 1, versionPriority: 1 },
    status: { conditions: [{ type: 'Available', status: 'True' }] },
  } as unknown as V1APIService
  const cluster = {
    onChange(_: unknown, listener: (object: V1APIService, isDeleted: boolean) => void) {
      listener(object, false)
      return { [Symbol.dispose]() {} }
    },
  } as unknown as ClusterView
  apis.follow(cluster)
  return { apis, api: apis.named('v1.example.com') as RemoteApi }
}

/** Questions stay open until the test answers them. */
function openQuestions() {
  const open: { target: string; answer(answer: Partial<RemoteAnswer>): void }[] = []
  const ask = (_: RemoteApi, { target }: { target: string }) =>
    new Promise<RemoteAnswer>((resolve) => {
      open.push({ target, answer: (answer) => resolve({ status: 200, contentType: 'application/json', etag: '', text: '{}', ...answer }) })
    })
  return { open, ask }
}

const swagger = (name: string) => JSON.stringify({ definitions: { [name]: {} } })
const definitionsIn = (documents: readonly { parts: { definitions: object } }[]): string[] =>
  documents.flatMap(({ parts }) => Object.keys(parts.definitions))

test('a change that is told of while the document is asked for makes it stale', async () => {
  const { apis, api } = oneRemote()
  const { open, ask } = openQuestions()
  const documents = new RemoteOpenApi(apis, ask, logger)
  const first = documents.v2()
  const refreshed = documents.refresh(api, true)
  open[0]?.answer({ text: swagger('Old') })
  open[1]?.answer({ text: '{"paths":{}}' })
  await refreshed
  assert.deepEqual(definitionsIn(await first), ['Old'])
  const second = documents.v2()
  assert.equal(open.length, 3, 'it is asked for again')
  open[2]?.answer({ text: swagger('New') })
  assert.deepEqual(definitionsIn(await second), ['New'])
  assert.deepEqual(definitionsIn(await documents.v2()), ['New'])
  assert.equal(open.length, 3, 'and not once more')
})

test('a document that says that it is the same was the same only before the change', async () => {
  const { apis, api } = oneRemote()
  const { open, ask } = openQuestions()
  const documents = new RemoteOpenApi(apis, ask, logger)
  const first = documents.v2()
  open[0]?.answer({ text: swagger('Old'), etag: 'e' })
  await first
  await documents.refresh(api, false)
  const second = documents.v2()
  await documents.refresh(api, false)
  open[1]?.answer({ status: 304 })
  assert.deepEqual(definitionsIn(await second), ['Old'])
  const third = documents.v2()
  assert.equal(open.length, 3)
  open[2]?.answer({ text: swagger('New') })
  assert.deepEqual(definitionsIn(await third), ['New'])
})

test('an index that was overtaken by a newer one does not take its place', async () => {
  const { apis, api } = oneRemote()
  const { open, ask } = openQuestions()
  const documents = new RemoteOpenApi(apis, ask, logger)
  const index = (hash: string) => ({ text: JSON.stringify({ paths: { 'apis/example.com/v1': { serverRelativeURL: `/x?hash=${hash}` } } }) })
  const [first, second] = [documents.refresh(api, true), documents.refresh(api, true)]
  open[1]?.answer(index('new'))
  await second
  open[0]?.answer(index('old'))
  await first
  assert.deepEqual([...documents.index().values()], ['/x?hash=new'])
})

test('a server that has gone is not believed to be there because an earlier question is answered late', async () => {
  const { apis, api } = oneRemote()
  const { open, ask } = openQuestions()
  const discovery = new RemoteDiscovery(apis, ask, logger)
  const first = discovery.refresh(api, true)
  await discovery.refresh(api, false)
  open[0]?.answer({
    contentType: 'application/json;as=APIGroupDiscoveryList',
    text: JSON.stringify({ items: [{ metadata: { name: 'example.com' }, versions: [{ version: 'v1', resources: [{ resource: 'a' }] }] }] }),
  })
  await first
  assert.deepEqual(
    discovery.versions().map(({ isCurrent }) => isCurrent),
    [false],
  )
})
