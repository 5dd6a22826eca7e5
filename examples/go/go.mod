module kinformer.example/informer

go 1.21
