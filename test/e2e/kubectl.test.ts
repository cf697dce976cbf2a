/** The real kubectl, in every version this machine has, against a started cluster. */
import { after, before, describe, test } from 'node:test'
import { installedKubectls } from '../support/kubectl.ts'
import { type RunningCluster, startCluster } from '../support/running-cluster.ts'
import { applying, applyingServerSide } from './kubectl/applying.ts'
import { changing, rollingOut } from './kubectl/changing.ts'
import { creatingByGenerator, creatingFromFiles } from './kubectl/creating.ts'
import { deleting } from './kubectl/deleting.ts'
import { explaining } from './kubectl/explaining.ts'
import { lookingAround } from './kubectl/looking-around.ts'
import { reading } from './kubectl/reading.ts'
import { type Chapter, Session } from './kubectl/session.ts'

const chapters: readonly Chapter[] = [
  lookingAround,
  explaining,
  creatingFromFiles,
  creatingByGenerator,
  reading,
  changing,
  rollingOut,
  applying,
  applyingServerSide,
  deleting,
]

const versions = installedKubectls()
const asked = process.env['KUBECTL_VERSION']
let cluster: RunningCluster

before(async () => {
  // The test is the controllers: it moves objects along itself.
  cluster = await startCluster(['--store', 'memory', '--runtime', 'none', '--controllers=', '--scheduler=false'])
})
after(() => cluster[Symbol.asyncDispose]())

for (const [index, { path, version }] of versions.entries()) {
  const isNewest = index === versions.length - 1
  const isWhole = index === 0 || isNewest
  // Of those between, which hardly differ, every second one.
  if (!isWhole && index % 2 === 1 && asked !== version) continue
  describe(`kubectl ${version}`, { skip: asked !== undefined && asked !== version && 'another version is asked for' }, () => {
    let session: Session
    before(() => {
      session = new Session(path, version, cluster.kubeconfig, isNewest)
      session.ok(`create namespace ${session.namespace}`)
      // Pods need it, and no controller makes it.
      session.ok('create serviceaccount default')
    })
    for (const chapter of chapters.filter(({ isCore }) => isCore || isWhole)) test(chapter.name, () => chapter.run(session))
  })
}

test('there is a kubectl to test with', { skip: versions.length === 0 && 'kubectl is not installed' }, () => {})
