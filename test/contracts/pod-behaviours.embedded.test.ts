import { describe } from 'node:test'
import { startTestEmbedded, whyNoEmbedded } from '../support/embedded.ts'
import { realBehavioursSuite } from './pod-behaviours-real.ts'

describe('pods over the embedded runtime', { skip: whyNoEmbedded(), timeout: 600_000 }, () =>
  realBehavioursSuite(startTestEmbedded, { endsWithAgent: true }),
)
