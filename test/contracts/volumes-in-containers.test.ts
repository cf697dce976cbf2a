import { describe } from 'node:test'
import { cannotMount } from '#testing/test-node.ts'
import { startTestContainerd, whyNoContainers } from '../support/containerd.ts'
import { startTestEmbedded, whyNoEmbedded } from '../support/embedded.ts'
import { volumesSuite } from './volumes-in-containers.ts'
import { realVolumeStage } from './volumes-stage-real.ts'

describe('volumes in containers of containerd', { skip: cannotMount || whyNoContainers(), timeout: 600_000 }, () =>
  volumesSuite({ start: () => realVolumeStage(startTestContainerd) }),
)
describe('volumes in containers of the embedded runtime', { skip: cannotMount || whyNoEmbedded(), timeout: 600_000 }, () =>
  volumesSuite({ start: () => realVolumeStage(startTestEmbedded) }),
)
