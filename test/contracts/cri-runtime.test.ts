/** The runtime interface over a real containerd. */
import { describe } from 'node:test'
import { startTestContainerd, whyNoContainers } from '../support/containerd.ts'
import { containerRuntimeSuite } from './container-runtime.ts'

describe('containers by containerd', { skip: whyNoContainers(), timeout: 120_000 }, () => {
  containerRuntimeSuite({ scheme: 'containerd', start: startTestContainerd, health: {} })
})
