import { describe } from 'node:test'
import { startTestContainerd, whyNoContainers } from '../support/containerd.ts'
import { realBehavioursSuite } from './pod-behaviours-real.ts'

describe('pods over containerd', { skip: whyNoContainers(), timeout: 600_000 }, () => realBehavioursSuite(startTestContainerd))
