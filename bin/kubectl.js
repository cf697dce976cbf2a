#!/usr/bin/env node
// Typernetes as kubectl.
process.argv.splice(2, 0, 'kubectl')
await import('./typernetes.js')
