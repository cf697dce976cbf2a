import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Chapter, Session } from './session.ts'

/** Every generator of `kubectl create`, and what it made. */
export const creatingByGenerator: Chapter = {
  name: 'creates with every generator',
  isCore: false,
  run(session) {
    const own = `of-${session.namespace}`
    const path = join(session.directory, 'settings.properties')
    writeFileSync(path, 'colour=blue\nsize=small\n')
    session.prints(['create', 'configmap', 'literal', '--from-literal=a=1', '--from-literal=b=two words'], 'configmap/literal created')
    session.prints(['get', 'configmap', 'literal', '-o', 'jsonpath={.data.a} {.data.b}'], '1 two words')
    session.ok(['create', 'configmap', 'from-file', `--from-file=${path}`])
    session.prints(['get', 'configmap', 'from-file', '-o', 'jsonpath={.data.settings\\.properties}'], 'colour=blue\nsize=small')
    session.ok(['create', 'configmap', 'from-env', `--from-env-file=${path}`])
    session.prints(['get', 'configmap', 'from-env', '-o', 'jsonpath={.data.colour}'], 'blue')

    session.prints('create secret generic words --from-literal=password=s3cret', 'secret/words created')
    session.prints('get secret words -o jsonpath={.type}={.data.password}', 'Opaque=czNjcmV0')
    session.ok('create secret docker-registry puller --docker-server=registry.example.com --docker-username=u --docker-password=p')
    session.prints('get secret puller -o jsonpath={.type}', 'kubernetes.io/dockerconfigjson')
    const pair = session.keyPair()
    session.ok(['create', 'secret', 'tls', 'served', `--cert=${pair.certificate}`, `--key=${pair.key}`])
    session.prints('get secret served -o jsonpath={.type}', 'kubernetes.io/tls')

    session.prints('create serviceaccount robot', 'serviceaccount/robot created')
    assert.match(session.ok('create token robot --duration=10m').trim(), /^[\w-]+\.[\w-]+\.[\w-]+$/)
    session.prints('create role reader --verb=get,list --resource=pods,pods/log', /role\.rbac\.authorization\.k8s\.io\/reader created/)
    session.prints('get role reader -o jsonpath={.rules[0].resources}', '["pods","pods/log"]')
    session.ok(`create rolebinding readers --role=reader --serviceaccount=${session.namespace}:robot`)
    session.prints(`auth can-i list pods --as=system:serviceaccount:${session.namespace}:robot`, 'yes')
    session.ok(`create clusterrole ${own} --verb=get --resource=nodes`)
    session.ok(`create clusterrole aggregated-${own} --aggregation-rule=rbac.example.com/wanted=true`)
    session.ok(`create clusterrolebinding ${own} --clusterrole=${own} --group=watchers`)
    session.prints(['get', 'clusterrolebinding', own, '-o', 'jsonpath={.subjects[0].kind}'], 'Group')

    session.prints('create quota small --hard=cpu=10,memory=1Gi,pods=100', 'resourcequota/small created')
    session.prints('get quota small -o jsonpath={.spec.hard.memory}', '1Gi')
    session.ok('delete quota small')
    session.prints('create poddisruptionbudget calm --selector=app=calm --min-available=1', /poddisruptionbudget\.policy\/calm created/)
    session.prints(`create priorityclass ${own} --value=1000 --description=important`, /priorityclass\.scheduling\.k8s\.io\/.* created/)
    session.prints(
      ['create', 'ingress', 'front', '--rule=shop.example.com/*=web:80,tls=served', '--class=none'],
      /ingress\.networking\.k8s\.io\/front created/,
    )
    session.prints('get ingress front -o jsonpath={.spec.rules[0].host}', 'shop.example.com')
    creatingWorkloads(session)
    creatingServices(session)
  },
}

function creatingWorkloads(session: Session): void {
  session.prints('create deployment made --image=web:1 --replicas=2 --port=8080', 'deployment.apps/made created')
  session.prints('get deployment made -o jsonpath={.spec.replicas}', '2')
  session.prints('create job once --image=worker:1 -- echo done', 'job.batch/once created')
  session.prints(
    ['create', 'cronjob', 'nightly', '--image=worker:1', '--schedule=0 3 * * *', '--', 'echo', 'night'],
    'cronjob.batch/nightly created',
  )
  session.prints('create job now --from=cronjob/nightly', 'job.batch/now created')
  session.prints(
    'get job now -o jsonpath={.metadata.ownerReferences[0].kind}/{.metadata.annotations.cronjob\\.kubernetes\\.io/instantiate}',
    'CronJob/manual',
  )
  session.prints('run lone --image=web:1 --labels=app=lone --port=80', 'pod/lone created')
  session.prints('get pod lone -o jsonpath={.status.phase}', 'Pending')
  session.prints('run shown --image=web:1 --dry-run=client -o yaml', /^kind: Pod$/m)
  session.prints('run tried --image=web:1 --dry-run=server', 'pod/tried created (server dry run)')
  session.fails('get pod tried', /NotFound/)
  session.ok('delete pod lone --now')
}

function creatingServices(session: Session): void {
  session.prints('create service clusterip inner --tcp=80:8080', 'service/inner created')
  session.prints('get service inner -o jsonpath={.spec.clusterIP}', /^10\.96\./)
  session.ok('create service clusterip headless --clusterip=None --tcp=80')
  session.ok('create service nodeport outer --tcp=80:8080')
  assert.match(session.ok('get service outer -o jsonpath={.spec.ports[0].nodePort}'), /^3[0-2]\d{3}$/)
  session.ok('create service loadbalancer balanced --tcp=443:8443')
  session.ok('create service externalname elsewhere --external-name=db.example.com')
  session.prints('get service elsewhere -o wide', /elsewhere +ExternalName +<none> +db\.example\.com +<none>/)
  session.prints('expose deployment made --port=80 --target-port=8080 --name=exposed', 'service/exposed exposed')
}

/** `kubectl create -f`, and what it refuses. */
export const creatingFromFiles: Chapter = {
  name: 'creates from files and standard input',
  isCore: true,
  run(session) {
    const settings = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'piped' }, data: { a: '1' } }
    session.prints('create -f -', 'configmap/piped created', { input: JSON.stringify(settings) })
    session.fails('create -f -', /Error from server \(AlreadyExists\): error when creating "STDIN": configmaps "piped" already exists/, {
      input: JSON.stringify(settings),
    })
    const several = session.file(
      'several.yaml',
      { ...settings, metadata: { name: 'first' } },
      { ...settings, metadata: { name: 'second' } },
    )
    session.prints(['create', '-f', several], 'configmap/first created\nconfigmap/second created')
    session.prints(['get', '-f', several, '-o', 'name'], 'configmap/first\nconfigmap/second')
    session.prints('create -f -', /^configmap\/made-[a-z0-9]{5} created$/m, {
      input: JSON.stringify({ ...settings, metadata: { generateName: 'made-' } }),
    })
    session.prints('create -f - -o yaml', /resourceVersion: "\d+"/, { input: JSON.stringify({ ...settings, metadata: { name: 'shown' } }) })

    const misspelt = JSON.stringify({ ...settings, metadata: { name: 'misspelt' }, dta: {} })
    session.fails('create -f -', /strict decoding error: unknown field "dta"/, { input: misspelt })
    session.prints('create -f - --validate=warn', 'configmap/misspelt created', {
      input: misspelt,
      stderr: 'Warning: unknown field "dta"\n',
    })
    session.prints('create -f - --validate=ignore', 'configmap/unseen created', { input: misspelt.replace('misspelt', 'unseen') })
    session.fails(
      'create -f -',
      /The ConfigMap "Not_A_Name" is invalid: metadata\.name: Invalid value: "Not_A_Name": a lowercase RFC 1123 subdomain/,
      {
        input: JSON.stringify({ ...settings, metadata: { name: 'Not_A_Name' } }),
      },
    )
    session.fails('create -f -', /no matches for kind "Nothing" in version "v1"/, {
      input: JSON.stringify({ ...settings, kind: 'Nothing' }),
    })
    session.fails('create -f - -n nowhere', /namespaces "nowhere" not found/, {
      input: JSON.stringify({ ...settings, metadata: { name: 'lost' } }),
    })
    session.ok(['delete', '-f', several])
  },
}
