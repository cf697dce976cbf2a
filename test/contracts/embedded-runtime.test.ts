/** The runtime interface over the embedded runtime. */
import { describe } from 'node:test'
import { startTestEmbedded, whyNoEmbedded } from '../support/embedded.ts'
import { containerRuntimeSuite } from './container-runtime.ts'

const health = {
  handlers: [{ name: '', features: { recursiveReadOnlyMounts: true, userNamespaces: false } }],
  features: { supplementalGroupsPolicy: true },
}

describe('containers by the embedded runtime', { skip: whyNoEmbedded(), timeout: 120_000 }, () => {
  containerRuntimeSuite({ scheme: 'typernetes', start: startTestEmbedded, health })
})
