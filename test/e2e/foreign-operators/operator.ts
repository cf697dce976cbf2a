/** An operator as people write them with the official JavaScript client: a Greeting gets a config map, a status and a farewell. */
import {
  ApiException,
  ApiextensionsV1Api,
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  type KubernetesListObject,
  type KubernetesObject,
  makeInformer,
  PatchStrategy,
  setHeaderOptions,
} from '@kubernetes/client-node'

const at = { group: 'javascript.example.com', version: 'v1', namespace: 'default', plural: 'greetings' }
const finalizer = 'javascript.example.com/farewell'
type Greeting = KubernetesObject & { spec: { name: string }; status?: { phase: string; greeted: string } }

const config = new KubeConfig()
config.loadFromDefault()
const definitions = config.makeApiClient(ApiextensionsV1Api)
const core = config.makeApiClient(CoreV1Api)
const objects = config.makeApiClient(CustomObjectsApi)
const asMerge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch)

const name = `${at.plural}.${at.group}`
await definitions.createCustomResourceDefinition({
  body: {
    metadata: { name },
    spec: {
      group: at.group,
      scope: 'Namespaced',
      names: { kind: 'Greeting', plural: at.plural, singular: 'greeting' },
      versions: [
        {
          name: at.version,
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: {
                spec: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
                status: { type: 'object', properties: { phase: { type: 'string' }, greeted: { type: 'string' } } },
              },
            },
          },
        },
      ],
    },
  },
})
for (;;) {
  const { status } = await definitions.readCustomResourceDefinition({ name })
  if (status?.conditions?.some((each) => each.type === 'Established' && each.status === 'True')) break
}

async function writeConfigMap(mapName: string, owner: Greeting | undefined, text: string): Promise<void> {
  const reference = owner && {
    apiVersion: `${at.group}/${at.version}`,
    kind: 'Greeting',
    name: owner.metadata?.name ?? '',
    uid: owner.metadata?.uid ?? '',
    controller: true,
  }
  const body = { metadata: { name: mapName, ...(reference ? { ownerReferences: [reference] } : {}) }, data: { text } }
  try {
    await core.createNamespacedConfigMap({ namespace: 'default', body })
  } catch (error) {
    if (!(error instanceof ApiException) || error.code !== 409) throw error
    await core.replaceNamespacedConfigMap({ namespace: 'default', name: mapName, body })
  }
}

async function reconcile(greeting: Greeting): Promise<void> {
  const { name: objectName = '', finalizers = [], deletionTimestamp } = greeting.metadata ?? {}
  const place = { ...at, name: objectName }
  const setFinalizers = (list: string[]) =>
    objects.patchNamespacedCustomObject({ ...place, body: { metadata: { finalizers: list } } }, asMerge)
  if (deletionTimestamp !== undefined) {
    if (!finalizers.includes(finalizer)) return
    await writeConfigMap(`${objectName}-farewell`, undefined, `Goodbye, ${greeting.spec.name}`)
    await setFinalizers(finalizers.filter((each) => each !== finalizer))
    return
  }
  const current = finalizers.includes(finalizer) ? greeting : ((await setFinalizers([...finalizers, finalizer])) as Greeting)
  const greeted = current.spec.name
  if (current.status?.greeted === greeted) return
  await writeConfigMap(objectName, current, `Hello, ${greeted}`)
  await objects.replaceNamespacedCustomObjectStatus({ ...place, body: { ...current, status: { phase: 'Greeted', greeted } } })
}

const informer = makeInformer<Greeting>(
  config,
  `/apis/${at.group}/${at.version}/namespaces/default/${at.plural}`,
  async () => (await objects.listNamespacedCustomObject(at)) as KubernetesListObject<Greeting>,
)
// One after the other: what an earlier event asks for is not to be written after what a later one does.
let acting: Promise<void> = Promise.resolve()
const act = (greeting: Greeting) => {
  acting = acting
    .then(() => reconcile(greeting))
    .catch((error: unknown) => {
      // Somebody else was faster: the next event has what they wrote.
      if (!(error instanceof ApiException) || ![404, 409].includes(error.code)) throw error
    })
}
informer.on('add', act)
informer.on('update', act)
informer.on('error', () => void informer.start())
await informer.start()
console.log('ready')
